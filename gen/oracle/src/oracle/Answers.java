package oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Records what a real broker answers: oracle.Answers HOST:PORT OUTDIR. The broker should be a fresh
 * one of its own: topics whose names begin with "ans" are made, written and deleted.
 */
public final class Answers {
    private Answers() {
    }

    /** Runs all recordings in order. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2 || !args[0].contains(":")) {
            System.err.println("usage: oracle.Answers HOST:PORT OUTDIR");
            System.exit(2);
        }
        int colon = args[0].lastIndexOf(':');
        Path dir = Files.createDirectories(Path.of(args[1]));
        try (Recorder r = new Recorder(args[0].substring(0, colon), Integer.parseInt(args[0].substring(colon + 1)), dir)) {
            new AnswersProtocol(r).record();
            new AnswersTopics(r).record();
            new AnswersProduce(r).record();
            new AnswersSequences(r).record();
            new AnswersFetch(r).record();
            new AnswersOffsets(r).record();
        }
    }
}
