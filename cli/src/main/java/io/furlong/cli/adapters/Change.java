package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.node.ObjectNode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** One change of one adapter: sends it and says where the adapter stands then. */
final class Change {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(index = "0", paramLabel = "NAME", description = "The adapter.")
    private String name = "";

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    void patch(ObjectNode change) throws Exception {
        send("PATCH", "", change);
    }

    /** @param sub what comes after the adapter in the path */
    void send(String method, String sub, ObjectNode body) throws Exception {
        try (ControlClient client = connection.open()) {
            spec.commandLine().getOut().println(new Status(client.send(method, "/adapter_runs/" + ControlClient.part(name) + sub, body)).line());
        }
    }
}
