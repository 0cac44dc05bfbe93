package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.function.BiConsumer;

/** Makes up a message's JSON for one version by walking its spec; what it makes up depends on the seed alone. */
final class Values {
    /** How fields are chosen. */
    enum Case {
        /** Every field set. */
        DENSE,
        /** Null or empty wherever that is allowed. */
        SPARSE,
        /** As DENSE, null wherever that is allowed. */
        NULLS,
        /** A choice for each field. */
        MIXED,
        /** As DENSE, arrays of one element and short strings, for the failures. */
        SMALL
    }

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final long RECORD_TIME = 1_700_000_000_000L;
    private static final String[] WIDE = {"é", "ß", "Ж", "中", "€", "😀", "\n", "\"", "\\", "\u0000"};
    /** Lengths at which a varint grows by a byte, from below and above. */
    private static final int[] EDGES = {126, 127, 128, 300, 16382, 16384};
    private static final int[] TAG_SIZES = {0, 1, 2, 3, 4, 5, 130};

    private final Random random;
    private final Case how;
    private final int version;

    Values(Random random, Case how, int version) {
        this.random = random;
        this.how = how;
        this.version = version;
    }

    /** All fields that the version has. */
    ObjectNode struct(List<Spec.Field> fields) {
        ObjectNode out = NODES.objectNode();
        for (Spec.Field f : fields) {
            if (f.versions.has(version)) {
                out.set(f.name, field(f));
            }
        }
        return out;
    }

    /** One field's value. */
    JsonNode field(Spec.Field f) {
        int choice = random.nextInt(4);
        if (f.takesNull(version) && (how == Case.NULLS || how == Case.SPARSE || how == Case.MIXED && choice == 0)) {
            return NODES.nullNode();
        }
        boolean empty = how == Case.SPARSE || how == Case.MIXED && choice == 1;
        if (f.array) {
            return array(f, empty ? 0 : arrayLength(f));
        }
        return f.isStruct() ? struct(f.fields) : single(f, empty);
    }

    private int arrayLength(Spec.Field f) {
        return switch (how) {
            case SMALL -> 1;
            case NULLS -> 2;
            default -> !f.isStruct() && random.nextInt(8) == 0 ? 50 : 1 + random.nextInt(3);
        };
    }

    private ArrayNode array(Spec.Field f, int n) {
        ArrayNode out = NODES.arrayNode();
        for (int i = 0; i < n; i++) {
            out.add(f.isStruct() ? struct(f.fields) : single(f, false));
        }
        return out;
    }

    private JsonNode single(Spec.Field f, boolean empty) {
        return switch (f.type) {
            case "bool" -> NODES.booleanNode(how == Case.MIXED ? random.nextBoolean() : !f.spelledDefault.equals("true"));
            case "int8" -> NODES.numberNode((byte) integer(Byte.MIN_VALUE, Byte.MAX_VALUE));
            case "int16" -> NODES.numberNode((short) integer(Short.MIN_VALUE, Short.MAX_VALUE));
            case "uint16" -> NODES.numberNode((int) (integer(0, 65535) & 0xffff));
            case "int32" -> NODES.numberNode((int) integer(Integer.MIN_VALUE, Integer.MAX_VALUE));
            case "int64" -> NODES.numberNode(integer(Long.MIN_VALUE, Long.MAX_VALUE));
            case "float64" -> NODES.numberNode(random.nextGaussian() * Math.pow(10, random.nextInt(40) - 20));
            case "string" -> NODES.textNode(empty ? "" : string());
            case "uuid" -> NODES.textNode(Base64.getUrlEncoder().withoutPadding().encodeToString(empty ? new byte[16] : bytes(16)));
            case "bytes" -> NODES.textNode(Base64.getEncoder().encodeToString(empty ? new byte[0] : bytes(1 + random.nextInt(12))));
            case "records" -> NODES.textNode(Base64.getEncoder().encodeToString(empty ? new byte[0] : records()));
            default -> throw new IllegalArgumentException("type " + f.type + " of " + f.name);
        };
    }

    private long integer(long least, long most) {
        return switch (random.nextInt(8)) {
            case 0 -> least;
            case 1 -> most;
            case 2, 3 -> random.nextInt(100);
            default -> random.nextLong();
        };
    }

    private String string() {
        int n = how == Case.SMALL ? 3 : 1 + random.nextInt(12);
        if (how != Case.SMALL && random.nextInt(150) == 0) {
            n = EDGES[random.nextInt(EDGES.length)];
        }
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < n; i++) {
            if (n < 100 && random.nextInt(15) == 0) {
                b.append(WIDE[random.nextInt(WIDE.length)]);
            } else {
                b.append((char) (' ' + 1 + random.nextInt(94)));
            }
        }
        return b.toString();
    }

    private byte[] bytes(int n) {
        byte[] out = new byte[n];
        random.nextBytes(out);
        return out;
    }

    private byte[] records() {
        Batches b = new Batches(RECORD_TIME);
        b.baseOffset = random.nextInt(1000);
        int n = 1 + random.nextInt(3);
        for (int i = 0; i < n; i++) {
            byte[] key = random.nextInt(4) == 0 ? null : bytes(4);
            b.add(RECORD_TIME + i, i, key, bytes(8), "h" + i, string());
        }
        return b.build();
    }

    /** Unknown tags, all above the known ones; keyed by JSON pointer, for the root always, for other structs in `json` for about half. */
    ObjectNode unknownTags(List<Spec.Field> fields, JsonNode json) {
        ObjectNode out = NODES.objectNode();
        walkStructs("", fields, json, (pointer, members) -> {
            if (!pointer.isEmpty() && random.nextBoolean()) {
                return;
            }
            int tag = members.stream().mapToInt(f -> f.tag).max().orElse(-1);
            ArrayNode tags = out.putArray(pointer);
            int n = 1 + random.nextInt(2);
            for (int i = 0; i < n; i++) {
                tag += 1 + random.nextInt(i == 0 ? 90 : 20_000);
                String hex = Messages.hex(bytes(TAG_SIZES[random.nextInt(TAG_SIZES.length)]));
                tags.addObject().put("tag", tag).put("hex", hex);
            }
        });
        return out;
    }

    /** Calls `each` with the pointer and members of every struct that is there, the message itself included. */
    static void walkStructs(String pointer, List<Spec.Field> fields, JsonNode json, BiConsumer<String, List<Spec.Field>> each) {
        each.accept(pointer, fields);
        for (Spec.Field f : fields) {
            JsonNode v = json.get(f.name);
            if (!f.isStruct() || v == null || v.isNull()) {
                continue;
            }
            String here = pointer + "/" + f.name;
            if (!f.array) {
                walkStructs(here, f.fields, v, each);
                continue;
            }
            for (int i = 0; i < v.size(); i++) {
                walkStructs(here + "/" + i, f.fields, v.get(i), each);
            }
        }
    }

    /** The records in a message by JSON pointer, in hex; null and left-out ones are not there. */
    static ObjectNode records(List<Spec.Field> fields, JsonNode json) {
        ObjectNode out = NODES.objectNode();
        walkStructs("", fields, json, (pointer, members) -> {
            for (Spec.Field f : members) {
                String here = pointer + "/" + f.name;
                JsonNode v = json.at(here);
                if (f.type.equals("records") && v.isTextual()) {
                    out.put(here, Messages.hex(Base64.getDecoder().decode(v.textValue())));
                }
            }
        });
        return out;
    }
}
