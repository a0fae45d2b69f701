package io.furlong.server;

import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.helidon.http.HeaderNames;
import io.helidon.http.ServerRequestHeaders;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Who may do what. Without tokens in the store (loopback only) everyone is the one tenant {@code default} and sees all.
 * With tokens, each belongs to a tenant, which sees and touches its own adapters; the tenant {@code operator} sees all.
 * Only hashes of tokens are kept or compared.
 */
public final class Access {
    /** The tenant that everything belongs to when there are no tokens. */
    public static final String DEFAULT_TENANT = "default";
    /** The tenant that sees and touches every tenant's adapters. */
    public static final String OPERATOR = "operator";

    private final Store store;

    Access(Store store) {
        this.store = store;
    }

    /** Makes a token for a tenant and gives it out, once: only its hash is kept. */
    public static String issue(Store store, String tenant, String label, Instant at) {
        byte[] random = new byte[24];
        new SecureRandom().nextBytes(random);
        String token = "flg_" + HexFormat.of().formatHex(random);
        store.saveToken(sha256(token), tenant, label, at);
        return token;
    }

    /** The caller of a request, or 401 without a token, 403 with a wrong one. */
    Caller caller(ServerRequestHeaders headers) {
        if (!store.hasTokens()) {
            return new Caller(DEFAULT_TENANT, Optional.empty());
        }
        String header = headers.first(HeaderNames.AUTHORIZATION).orElse("");
        if (!header.regionMatches(true, 0, "Bearer ", 0, 7)) {
            throw new ApiException(401, "a token is needed: send 'Authorization: Bearer <token>'");
        }
        String tenant = store.tenantOfToken(sha256(header.substring(7).strip()))
                .orElseThrow(() -> new ApiException(403, "the token is not known"));
        return new Caller(tenant, tenant.equals(OPERATOR) ? Optional.empty() : Optional.of(tenant));
    }

    static String sha256(String text) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /**
     * @param tenant what it registers belongs to
     * @param only   the one tenant whose adapters it sees; all when empty
     */
    record Caller(String tenant, Optional<String> only) {
        boolean sees(Registration r) {
            return only.map(r.tenant()::equals).orElse(true);
        }
    }
}
