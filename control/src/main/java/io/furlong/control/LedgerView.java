package io.furlong.control;

import io.furlong.core.LedgerSnapshot;
import io.furlong.core.RegistrationId;
import java.util.Optional;

/** Where the attempts of running registrations are; one immutable snapshot a call. */
public interface LedgerView {
    Optional<LedgerSnapshot> ledger(RegistrationId registration);
}
