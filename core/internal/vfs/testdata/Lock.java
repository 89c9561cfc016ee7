import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileLock;

/** Takes the lock a RocketMQ broker takes on its store, says how that went, and holds it until its input ends. */
public class Lock {
    public static void main(String[] args) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(args[0], "rw")) {
            FileLock lock = file.getChannel().tryLock(0, 1, false);
            if (lock == null) {
                System.out.println("refused");
                return;
            }
            file.getChannel().write(ByteBuffer.wrap("lock".getBytes()));
            file.getChannel().force(true);
            System.out.println("held by " + ProcessHandle.current().pid());
            while (System.in.read() >= 0) {
            }
        }
    }
}
