import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Asks Kafka's own assignors, and writes a line of JSON for each question with its answer:
 *
 *   java -cp CLASSPATH KafkaAssignors.java > kafka-4.4.0.jsonl
 *
 * where CLASSPATH has kafka-group-coordinator, kafka-group-coordinator-api, kafka-clients and what
 * they need. A chain of questions starts with nothing assigned; then members come, go and change
 * their subscriptions, and topics grow. Members are handed over in the order of their ids, which
 * makes Kafka's answers reproducible.
 */
public class KafkaAssignors {
    static final class Member {
        String instance;
        TreeSet<Integer> topics = new TreeSet<>();
        TreeMap<Integer, TreeSet<Integer>> current = new TreeMap<>();
    }

    static final Random random = new Random(20240611);

    public static void main(String[] args) {
        for (String name : List.of("range", "uniform")) {
            for (boolean alike : new boolean[] {true, false}) {
                for (int chain = 0; chain < 12; chain++) {
                    chain(name, alike);
                }
            }
        }
    }

    static void chain(String name, boolean alike) {
        TreeMap<Integer, Integer> partitions = new TreeMap<>();
        int topics = 1 + random.nextInt(5);
        for (int t = 1; t <= topics; t++) {
            partitions.put(t, 1 + random.nextInt(12));
        }
        TreeMap<String, Member> members = new TreeMap<>();
        int next = 0;
        for (int n = 1 + random.nextInt(6); n > 0; n--) {
            members.put("m" + (char) ('a' + next++), member(partitions, alike));
        }
        for (int step = 0; step < 6; step++) {
            ask(name, alike, partitions, members);
            switch (random.nextInt(4)) {
                case 0:
                    if (members.size() > 1) {
                        List<String> ids = new ArrayList<>(members.keySet());
                        members.remove(ids.get(random.nextInt(ids.size())));
                    }
                    break;
                case 1:
                    members.put("m" + (char) ('a' + next++), member(partitions, alike));
                    break;
                case 2:
                    int grown = 1 + random.nextInt(topics);
                    partitions.put(grown, partitions.get(grown) + 1 + random.nextInt(4));
                    break;
                default:
                    if (!alike) {
                        List<String> ids = new ArrayList<>(members.keySet());
                        subscribe(members.get(ids.get(random.nextInt(ids.size()))), partitions, false);
                    }
            }
        }
    }

    static Member member(Map<Integer, Integer> partitions, boolean alike) {
        Member m = new Member();
        if (random.nextInt(3) == 0) {
            m.instance = "i" + random.nextInt(1000);
        }
        subscribe(m, partitions, alike);
        return m;
    }

    static void subscribe(Member m, Map<Integer, Integer> partitions, boolean all) {
        m.topics.clear();
        for (int t : partitions.keySet()) {
            if (all || random.nextInt(3) > 0) {
                m.topics.add(t);
            }
        }
    }

    static Uuid id(int topic) {
        return new Uuid(0, topic);
    }

    static void ask(String name, boolean alike, TreeMap<Integer, Integer> partitions, TreeMap<String, Member> members) {
        TreeMap<String, MemberSubscriptionAndAssignmentImpl> spec = new TreeMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        StringBuilder out = new StringBuilder("{\"assignor\":\"" + name + "\",\"alike\":" + alike + ",\"partitions\":{");
        String comma = "";
        for (Map.Entry<Integer, Integer> p : partitions.entrySet()) {
            out.append(comma).append('"').append(p.getKey()).append("\":").append(p.getValue());
            comma = ",";
        }
        out.append("},\"members\":[");
        comma = "";
        for (Map.Entry<String, Member> e : members.entrySet()) {
            Member m = e.getValue();
            TreeSet<Uuid> topics = new TreeSet<>();
            m.topics.forEach(t -> topics.add(id(t)));
            TreeMap<Uuid, Set<Integer>> current = new TreeMap<>();
            m.current.forEach((t, ps) -> {
                current.put(id(t), ps);
                ps.forEach(p -> owners.computeIfAbsent(id(t), k -> new HashMap<>()).put(p, e.getKey()));
            });
            spec.put(e.getKey(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.ofNullable(m.instance), topics, new Assignment(Collections.unmodifiableMap(current))));
            out.append(comma).append("{\"id\":\"").append(e.getKey()).append("\",\"instance\":\"")
                .append(m.instance == null ? "" : m.instance).append("\",\"topics\":").append(m.topics)
                .append(",\"current\":").append(json(m.current)).append('}');
            comma = ",";
        }
        out.append("],\"result\":{");
        ConsumerGroupPartitionAssignor assignor = name.equals("range") ? new RangeAssignor() : new UniformAssignor();
        Map<String, MemberAssignment> answer = assignor.assign(
            new GroupSpecImpl(spec, alike ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners),
            new SubscribedTopicDescriber() {
                @Override
                public int numPartitions(Uuid topic) {
                    return partitions.getOrDefault((int) topic.getLeastSignificantBits(), -1);
                }

                @Override
                public Set<String> racksForPartition(Uuid topic, int partition) {
                    return Set.of();
                }
            }).members();
        comma = "";
        for (Map.Entry<String, Member> e : members.entrySet()) {
            TreeMap<Integer, TreeSet<Integer>> given = new TreeMap<>();
            MemberAssignment a = answer.get(e.getKey());
            if (a != null) {
                a.partitions().forEach((t, ps) -> {
                    if (!ps.isEmpty()) {
                        given.put((int) t.getLeastSignificantBits(), new TreeSet<>(ps));
                    }
                });
            }
            e.getValue().current = given;
            out.append(comma).append('"').append(e.getKey()).append("\":").append(json(given));
            comma = ",";
        }
        System.out.println(out.append("}}"));
    }

    static String json(Map<Integer, TreeSet<Integer>> assignment) {
        StringBuilder out = new StringBuilder("{");
        String comma = "";
        for (Map.Entry<Integer, TreeSet<Integer>> e : assignment.entrySet()) {
            out.append(comma).append('"').append(e.getKey()).append("\":").append(e.getValue());
            comma = ",";
        }
        return out.append('}').toString();
    }
}
