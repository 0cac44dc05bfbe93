package oracle;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A connection whose answers are read as they come. */
final class Peer implements Closeable {
    private final Socket socket;
    private final BlockingQueue<byte[]> answers = new LinkedBlockingQueue<>();

    Peer(String host, int port) throws IOException {
        socket = new Socket(host, port);
        socket.setTcpNoDelay(true);
        Thread reader = new Thread(this::read, "peer");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                byte[] answer = new byte[in.readInt()];
                in.readFully(answer);
                answers.add(answer);
            }
        } catch (IOException e) {
            answers.add(new byte[0]);
        }
    }

    /** Sends a frame, its size put before it. */
    void send(byte[] frame) throws IOException {
        socket.getOutputStream().write(Recorder.concat(ByteBuffer.allocate(4).putInt(frame.length).array(), frame));
    }

    /** The next answer, empty at the connection's end, or null if there is none within that time. */
    byte[] poll(int ms) {
        try {
            return answers.poll(ms, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
