package oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Records what a real broker answers to the group APIs: oracle.AnswersGroups HOST:PORT OUTDIR. The
 * broker should be a fresh one of its own.
 */
public final class AnswersGroups {
    private AnswersGroups() {
    }

    /** Runs all recordings in order. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2 || !args[0].contains(":")) {
            System.err.println("usage: oracle.AnswersGroups HOST:PORT OUTDIR");
            System.exit(2);
        }
        int colon = args[0].lastIndexOf(':');
        Path dir = Files.createDirectories(Path.of(args[1]));
        try (Traces t = new Traces(args[0].substring(0, colon), Integer.parseInt(args[0].substring(colon + 1)), dir, GroupLog::new)) {
            new AnswersGroupAdmin(t).record();
            new AnswersClassic(t).record();
            new AnswersStatic(t).record();
            new AnswersCommits(t).record();
            new AnswersConsumer(t).record();
            new AnswersMigration(t).record();
        }
    }
}
