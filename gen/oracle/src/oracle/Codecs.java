package oracle;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.xerial.snappy.Snappy;
import org.xerial.snappy.SnappyOutputStream;

/** The codecs of record batches by their number, and the second layout of snappy. */
final class Codecs {
    static final int GZIP = 1;
    static final int SNAPPY = 2;
    static final int LZ4 = 3;
    static final int ZSTD = 4;

    private static final int SNAPPY_BLOCK = 1024;

    private Codecs() {
    }

    static byte[] compress(int codec, byte[] data) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (OutputStream s = stream(codec, out)) {
            s.write(data);
        }
        return out.toByteArray();
    }

    /** One block of snappy without the frame that Java's clients put around it, as librdkafka sends it. */
    static byte[] rawSnappy(byte[] data) throws IOException {
        return Snappy.compress(data);
    }

    private static OutputStream stream(int codec, OutputStream out) throws IOException {
        return switch (codec) {
            case GZIP -> new GZIPOutputStream(out);
            case SNAPPY -> new SnappyOutputStream(out, SNAPPY_BLOCK);
            case LZ4 -> new LZ4FrameOutputStream(out, LZ4FrameOutputStream.BLOCKSIZE.SIZE_64KB,
                LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE);
            case ZSTD -> new com.github.luben.zstd.ZstdOutputStream(out);
            default -> throw new IllegalArgumentException("codec " + codec);
        };
    }
}
