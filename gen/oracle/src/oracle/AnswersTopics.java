package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.CREATE_TOPICS;
import static org.apache.kafka.common.protocol.ApiKeys.DELETE_TOPICS;
import static org.apache.kafka.common.protocol.ApiKeys.FIND_COORDINATOR;
import static org.apache.kafka.common.protocol.ApiKeys.METADATA;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;

/** Metadata, CreateTopics and DeleteTopics. */
final class AnswersTopics {
    private static final String RANDOM_ID = "AbCdEfGhIjKlMnOpQrStUw";
    private static final String ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA";
    private static final List<String> BAD_NAMES =
        List.of("", ".", "..", "a b", "é", "a/b", "a:b", "n".repeat(250));

    private final Recorder r;
    private final Topics topics;

    AnswersTopics(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        metadata();
        metadataIds();
        new AnswersCreate(r).record();
        delete();
    }

    private static String names(String... names) {
        StringBuilder b = new StringBuilder();
        for (String n : names) {
            b.append(b.isEmpty() ? "" : ",").append("{name:'").append(n).append("'}");
        }
        return b.toString();
    }

    private void metadata() throws IOException {
        r.file("metadata");
        topics.make("ans-meta", 3, "");
        for (String gone : List.of("ans-auto", "ans-auto-old", "ans.col", "ans_col", "ans-auto-v0")) {
            topics.drop(gone);
        }
        // The internal topics come into being at the first look-up of a coordinator.
        r.quietly(() -> {
            r.ask("", FIND_COORDINATOR, 3, "{key:'ans',keyType:0}");
            r.ask("", FIND_COORDINATOR, 3, "{key:'ans',keyType:1}");
        });
        topics.await("__consumer_offsets", true);
        topics.await("__transaction_state", true);
        r.fresh();
        for (int v = 0; v <= 13; v++) {
            r.ask("a known topic, version " + v, METADATA, v, "{topics:[" + names("ans-meta") + "]}");
        }
        r.ask("v0, empty list: all", METADATA, 0, "{topics:[]}");
        r.ask("v1, null: all", METADATA, 1, "{topics:null}");
        r.ask("v9, null: all", METADATA, 9, "{topics:null}");
        for (int v : new int[] {1, 2, 8, 9, 12, 13}) {
            r.ask("empty list: none, version " + v, METADATA, v, "{topics:[]}");
        }
        r.askBody("v0, count -1", METADATA, 0, Messages.unhex("ffffffff"));
        r.ask("internal topics", METADATA, 12, "{topics:[" + names("__consumer_offsets", "__transaction_state") + "]}");
        r.ask("one name twice", METADATA, 12, "{topics:[" + names("ans-meta", "ans-meta") + "]}");
        r.ask("known and unknown", METADATA, 12, "{topics:[" + names("ans-nosuch", "ans-meta") + "],allowAutoTopicCreation:false}");
        for (int v : new int[] {8, 10, 11, 12}) {
            r.ask("authorized operations of the topic, version " + v, METADATA, v,
                "{topics:[" + names("ans-meta") + "],includeTopicAuthorizedOperations:true}");
        }
        r.ask("authorized operations of an unknown topic", METADATA, 12,
            "{topics:[" + names("ans-nosuch") + "],allowAutoTopicCreation:false,includeTopicAuthorizedOperations:true}");
        r.ask("authorized operations of the cluster", METADATA, 8, "{topics:[],includeClusterAuthorizedOperations:true}");
        r.ask("authorized operations of the cluster", METADATA, 10, "{topics:[],includeClusterAuthorizedOperations:true}");
        autoCreation();
    }

    private void autoCreation() throws IOException {
        for (int v : new int[] {4, 9, 12}) {
            r.ask("unknown topic, no creation, version " + v, METADATA, v, "{topics:[" + names("ans-auto") + "],allowAutoTopicCreation:false}");
        }
        for (int v : new int[] {0, 1, 4, 12}) {
            for (String bad : BAD_NAMES) {
                r.ask("name '" + bad + "', creation, version " + v, METADATA, v, "{topics:[" + names(bad) + "]}");
            }
        }
        for (String bad : BAD_NAMES) {
            r.ask("name '" + bad + "', no creation", METADATA, 12, "{topics:[" + names(bad) + "],allowAutoTopicCreation:false}");
        }
        r.ask("name of 249 characters, no creation", METADATA, 12, "{topics:[" + names("n".repeat(249)) + "],allowAutoTopicCreation:false}");
        r.ask("unknown topic, creation: first answer", METADATA, 12, "{topics:[" + names("ans-auto") + "]}");
        topics.await("ans-auto", true);
        r.ask("the same once it is there", METADATA, 12, "{topics:[" + names("ans-auto") + "]}");
        r.ask("version 3 has no flag and creates: first answer", METADATA, 3, "{topics:[" + names("ans-auto-old") + "]}");
        r.ask("version 0 creates: first answer", METADATA, 0, "{topics:[" + names("ans-auto-v0") + "]}");
        r.ask("two at once, one bad: first answer", METADATA, 9, "{topics:[" + names("a b", "ans.col") + "]}");
        topics.await("ans.col", true);
        r.ask("differs from ans.col by . and _ alone, creation", METADATA, 12, "{topics:[" + names("ans_col") + "]}");
        r.ask("and asked again", METADATA, 12, "{topics:[" + names("ans_col") + "]}");
        r.ask("internal name that is not there, creation", METADATA, 12, "{topics:[" + names("__share_group_state_x") + "],allowAutoTopicCreation:false}");
        for (String gone : List.of("ans-auto", "ans-auto-old", "ans.col", "ans-auto-v0")) {
            topics.drop(gone);
        }
    }

    private void metadataIds() throws IOException {
        r.file("metadata-ids");
        String old = topics.make("ans-ids", 1, "");
        String id = topics.make("ans-ids", 1, "");
        for (int v : new int[] {12, 13}) {
            r.ask("known id, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:null}]}");
            r.ask("unknown id, version " + v, METADATA, v, "{topics:[{topicId:'" + RANDOM_ID + "',name:null}]}");
            r.ask("id of the topic of that name before it was made anew, version " + v, METADATA, v,
                "{topics:[{topicId:'" + old + "',name:null}]}");
            r.ask("zero id and null name, version " + v, METADATA, v, "{topics:[{topicId:'" + ZERO_ID + "',name:null}]}");
            r.ask("known id and its name, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:'ans-ids'}]}");
            r.ask("known id and another name, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:'ans-meta'}]}");
            r.ask("unknown id and a known name, version " + v, METADATA, v, "{topics:[{topicId:'" + RANDOM_ID + "',name:'ans-ids'}]}");
            r.ask("known id, unknown id, version " + v, METADATA, v,
                "{topics:[{topicId:'" + id + "',name:null},{topicId:'" + RANDOM_ID + "',name:null}],includeTopicAuthorizedOperations:true}");
            r.ask("an id and a name, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:null},{name:'ans-meta'}]}");
        }
        for (int v : new int[] {10, 11}) {
            r.ask("known id, null name, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:null}]}");
            r.ask("zero id, null name, version " + v, METADATA, v, "{topics:[{topicId:'" + ZERO_ID + "',name:null}]}");
            r.ask("known id and its name, version " + v, METADATA, v, "{topics:[{topicId:'" + id + "',name:'ans-ids'}]}");
            r.ask("unknown id and a known name, version " + v, METADATA, v, "{topics:[{topicId:'" + RANDOM_ID + "',name:'ans-ids'}]}");
        }
        topics.drop("ans-ids");
        r.ask("id of a deleted topic", METADATA, 12, "{topics:[{topicId:'" + id + "',name:null}]}");
    }

    private void delete() throws IOException {
        r.file("delete-topics");
        for (int v = 1; v <= 5; v++) {
            topics.make("ans-del", 1, "");
            r.ask("a known topic, version " + v, DELETE_TOPICS, v, "{topicNames:['ans-del'],timeoutMs:10000}");
            topics.await("ans-del", false);
            r.ask("an unknown topic, version " + v, DELETE_TOPICS, v, "{topicNames:['ans-nosuch'],timeoutMs:10000}");
        }
        topics.make("ans-del", 1, "");
        r.ask("known and unknown", DELETE_TOPICS, 4, "{topicNames:['ans-nosuch','ans-del'],timeoutMs:10000}");
        topics.await("ans-del", false);
        topics.make("ans-del", 1, "");
        r.ask("one name twice", DELETE_TOPICS, 5, "{topicNames:['ans-del','ans-del'],timeoutMs:10000}");
        topics.await("ans-del", true);
        r.ask("no names", DELETE_TOPICS, 5, "{topicNames:[],timeoutMs:10000}");
        r.ask("bad names", DELETE_TOPICS, 5, "{topicNames:['','.','a b','" + "n".repeat(250) + "'],timeoutMs:10000}");
        r.ask("timeout 0", DELETE_TOPICS, 5, "{topicNames:['ans-nosuch'],timeoutMs:0}");
        deleteById();
    }

    private void deleteById() throws IOException {
        String id = topics.make("ans-del", 1, "");
        r.ask("unknown name", DELETE_TOPICS, 6, "{topics:[{name:'ans-nosuch'}],timeoutMs:10000}");
        r.ask("unknown id", DELETE_TOPICS, 6, "{topics:[{topicId:'" + RANDOM_ID + "'}],timeoutMs:10000}");
        r.ask("name and id", DELETE_TOPICS, 6, "{topics:[{name:'ans-del',topicId:'" + id + "'}],timeoutMs:10000}");
        r.ask("neither name nor id", DELETE_TOPICS, 6, "{topics:[{name:null}],timeoutMs:10000}");
        r.ask("one id twice", DELETE_TOPICS, 6, "{topics:[{topicId:'" + id + "'},{topicId:'" + id + "'}],timeoutMs:10000}");
        r.ask("one unknown id twice", DELETE_TOPICS, 6, "{topics:[{topicId:'" + RANDOM_ID + "'},{topicId:'" + RANDOM_ID + "'}],timeoutMs:10000}");
        r.ask("a topic's name and its id as two entries", DELETE_TOPICS, 6, "{topics:[{name:'ans-del'},{topicId:'" + id + "'}],timeoutMs:10000}");
        r.ask("one name twice", DELETE_TOPICS, 6, "{topics:[{name:'ans-del'},{name:'ans-del'}],timeoutMs:10000}");
        r.ask("none", DELETE_TOPICS, 6, "{topics:[],timeoutMs:10000}");
        r.ask("by id", DELETE_TOPICS, 6, "{topics:[{topicId:'" + id + "'}],timeoutMs:10000}");
        topics.await("ans-del", false);
        r.ask("by the id that is gone", DELETE_TOPICS, 6, "{topics:[{topicId:'" + id + "'}],timeoutMs:10000}");
        topics.make("ans-del", 1, "");
        JsonNode a = r.ask("by name", DELETE_TOPICS, 6, "{topics:[{name:'ans-del'}],timeoutMs:10000}");
        if (a.at("/responses/0/errorCode").intValue() != 0) {
            throw new IOException("not deleted: " + a);
        }
    }
}
