package oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Records what a real broker answers to the transaction APIs: oracle.AnswersTransactions HOST:PORT
 * OUTDIR. The broker should be a fresh one of its own.
 */
public final class AnswersTransactions {
    private AnswersTransactions() {
    }

    /** Runs all recordings in order. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2 || !args[0].contains(":")) {
            System.err.println("usage: oracle.AnswersTransactions HOST:PORT OUTDIR");
            System.exit(2);
        }
        int colon = args[0].lastIndexOf(':');
        Path dir = Files.createDirectories(Path.of(args[1]));
        try (Traces t = new Traces(args[0].substring(0, colon), Integer.parseInt(args[0].substring(colon + 1)), dir, TransactionLog::new)) {
            t.hexOnly();
            new AnswersTransactionAdmin(t).record();
            new AnswersTransactionStates(t).record();
            new AnswersTransactionData(t).record();
            new AnswersTransactionOffsets(t).record();
        }
    }
}
