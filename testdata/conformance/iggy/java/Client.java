import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iggy.client.blocking.tcp.IggyTcpClient;
import org.apache.iggy.consumergroup.Consumer;
import org.apache.iggy.identifier.ConsumerId;
import org.apache.iggy.identifier.StreamId;
import org.apache.iggy.identifier.TopicId;
import org.apache.iggy.message.HeaderKey;
import org.apache.iggy.message.HeaderValue;
import org.apache.iggy.message.Message;
import org.apache.iggy.message.Partitioning;
import org.apache.iggy.message.PolledMessages;
import org.apache.iggy.message.PollingStrategy;
import org.apache.iggy.topic.CompressionAlgorithm;

/**
 * java Client HOST:PORT USER PASSWORD: Iggy's Java client against a server of its protocol. Prints "ok name" for each
 * check; anything else ends it with exit code 1.
 */
public final class Client {
    private static final BigInteger NEVER = new BigInteger("18446744073709551615");

    private final IggyTcpClient client;
    private final StreamId stream;
    private final String name;
    private final TopicId topic = TopicId.of("events");

    private Client(IggyTcpClient client, String name) {
        this.client = client;
        this.name = name;
        this.stream = StreamId.of(name);
    }

    public static void main(String[] args) {
        int colon = args[0].lastIndexOf(':');
        String host = args[0].substring(0, colon);
        int port = Integer.parseInt(args[0].substring(colon + 1));
        try {
            refused("login with a wrong password", () -> connect(host, port).users().login(args[1], args[2] + "x"));
            IggyTcpClient client = connect(host, port);
            expect("user", client.users().login(args[1], args[2]).userId(), 0L);
            ok("connect and login");
            Client c = new Client(client, "java-" + ProcessHandle.current().pid() + "-" + System.currentTimeMillis());
            c.admin();
            c.messages();
            c.offsets();
            c.group();
            c.system();
        } catch (Throwable e) {
            System.out.println("FAIL " + e);
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // the client's threads would keep the process
    }

    private static IggyTcpClient connect(String host, int port) {
        // One connection: Iggy's group memberships belong to connections.
        IggyTcpClient client = IggyTcpClient.builder().host(host).port(port).connectionPoolSize(1)
                .requestTimeout(Duration.ofSeconds(60)).build();
        client.connect();
        return client;
    }

    private void admin() {
        expect("no such stream", client.streams().getStream(stream), Optional.empty());
        expect("stream", client.streams().createStream(name).name(), name);
        refused("the same stream again", () -> client.streams().createStream(name));
        client.topics().createTopic(stream, 2L, CompressionAlgorithm.None, NEVER, NEVER, Optional.empty(), "events");
        var made = client.topics().getTopic(stream, topic).orElseThrow();
        expect("topic", made.name() + " " + made.partitionsCount() + " " + made.messagesCount(), "events 2 0");
        client.partitions().createPartitions(stream, topic, 1L);
        expect("partitions", client.topics().getTopic(stream, topic).orElseThrow().partitions().size(), 3);
        client.partitions().deletePartitions(stream, topic, 1L);
        expect("streams", client.streams().getStreams().stream().filter(s -> s.name().equals(name)).count(), 1L);
        ok("streams and topics");
    }

    private void messages() {
        Map<HeaderKey, HeaderValue> headers = Map.of(HeaderKey.fromString("kind"), HeaderValue.fromString("test"));
        client.messages().sendMessages(stream, topic, Partitioning.partitionId(1L),
                List.of(Message.of("first"), Message.of("вторая", headers), Message.of("x".repeat(100_000))));
        PolledMessages polled = poll(1, Consumer.of(1L), PollingStrategy.first(), 10, false);
        expect("count", polled.count(), 3L);
        expect("current offset", polled.currentOffset(), BigInteger.TWO);
        expect("payload", new String(polled.messages().get(1).payload(), java.nio.charset.StandardCharsets.UTF_8), "вторая");
        expect("headers", polled.messages().get(1).userHeaders(), headers);
        expect("long payload", polled.messages().get(2).payload().length, 100_000);
        expect("offset", polled.messages().get(2).header().offset(), BigInteger.TWO);
        expect("from an offset", poll(1, Consumer.of(1L), PollingStrategy.offset(BigInteger.ONE), 1, false)
                .messages().get(0).header().offset(), BigInteger.ONE);
        expect("beyond the end", poll(1, Consumer.of(1L), PollingStrategy.offset(BigInteger.TEN), 1, false).count(), 0L);
        client.messages().sendMessages(stream, topic, Partitioning.messagesKey("key"), List.of(Message.of("by key")));
        client.messages().sendMessages(stream, topic, Partitioning.balanced(), List.of(Message.of("balanced")));
        expect("all of the topic", client.topics().getTopic(stream, topic).orElseThrow().messagesCount(), BigInteger.valueOf(5));
        ok("send and poll");
    }

    private void offsets() {
        Consumer reader = Consumer.of(ConsumerId.of("reader"));
        expect("nothing stored", client.consumerOffsets().getConsumerOffset(stream, topic, Optional.of(1L), reader), Optional.empty());
        expect("next", poll(1, reader, PollingStrategy.next(), 2, true).count(), 2L);
        var stored = client.consumerOffsets().getConsumerOffset(stream, topic, Optional.of(1L), reader).orElseThrow();
        expect("stored by a poll", stored.storedOffset(), BigInteger.ONE);
        client.consumerOffsets().storeConsumerOffset(stream, topic, Optional.of(1L), reader, BigInteger.ZERO);
        expect("next after going back", poll(1, reader, PollingStrategy.next(), 1, false)
                .messages().get(0).header().offset(), BigInteger.ONE);
        ok("stored offsets");
    }

    private void group() {
        ConsumerId id = ConsumerId.of("workers");
        expect("group", client.consumerGroups().createConsumerGroup(stream, topic, "workers").partitionsCount(), 2L);
        client.consumerGroups().joinConsumerGroup(stream, topic, id);
        expect("members", client.consumerGroups().getConsumerGroup(stream, topic, id).orElseThrow().membersCount(), 1L);
        Consumer workers = Consumer.group(id);
        long got = 0;
        for (int i = 0; i < 4; i++) { // its partitions in turn
            got += client.messages().pollMessages(stream, topic, Optional.empty(), workers, PollingStrategy.next(), 10L, true).count();
        }
        expect("messages of the group", got, 5L);
        client.consumerGroups().leaveConsumerGroup(stream, topic, id);
        refused("poll after leaving", () -> poll(1, workers, PollingStrategy.next(), 1, false));
        client.consumerGroups().deleteConsumerGroup(stream, topic, id);
        ok("consumer group");
    }

    private void system() {
        expect("stats", client.system().getStats().messagesCount().signum(), 1);
        expect("clients", client.system().getClients().isEmpty(), false);
        client.topics().deleteTopic(stream, topic);
        client.streams().deleteStream(stream);
        expect("deleted", client.streams().getStream(stream), Optional.empty());
        ok("stats, clients, deletion");
    }

    private PolledMessages poll(long partition, Consumer consumer, PollingStrategy strategy, long count, boolean commit) {
        return client.messages().pollMessages(stream, topic, Optional.of(partition), consumer, strategy, count, commit);
    }

    private static void ok(String name) {
        System.out.println("ok " + name);
    }

    private static void expect(String what, Object got, Object want) {
        if (!got.equals(want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    private static void refused(String what, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            ok(what + " is refused");
            return;
        }
        throw new AssertionError(what + " was accepted");
    }
}
