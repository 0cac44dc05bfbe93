package oracle;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * Works on Kafka's generated message classes by name: makes them, fills them from JSON, writes them
 * as bytes and as the JSON of their own converters. Everything goes by reflection, so the set of
 * messages is that of the jars on the class path.
 */
final class Messages {
    /** Reads and writes JSON; reading takes names without quotes and single quotes, and keeps doubles exact. */
    static final ObjectMapper JSON = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES)
        .enable(JsonReadFeature.ALLOW_UNQUOTED_FIELD_NAMES)
        .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .build();

    /** Packages that hold generated classes: the protocol's, then the internal topics'. */
    private static final List<String> PACKAGES = List.of(
        "org.apache.kafka.common.message.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.");

    /** Packages that have held MemoryRecords; it moved between releases. */
    private static final List<String> RECORDS = List.of(
        "org.apache.kafka.common.record.internal.MemoryRecords",
        "org.apache.kafka.common.record.MemoryRecords");

    private static final Map<String, Class<?>> CLASSES = new HashMap<>();
    private static final Map<Class<?>, Map<String, Method>> SETTERS = new HashMap<>();

    private Messages() {
    }

    /** A fresh message: `name` is the spec's name, such as MetadataRequest or RequestHeader. */
    static Message fresh(String name) {
        return (Message) instance(classOf(name));
    }

    /** Whether the class path has the class generated from that spec. */
    static boolean exists(String name) {
        return lookUp(name) != null;
    }

    /** The message with `json` set on top of its defaults, whether or not some version has those fields. */
    static Message fromJson(String name, JsonNode json) {
        Message m = fresh(name);
        bind(m, json);
        return m;
    }

    /** The message's bytes in that version. */
    static byte[] encode(Message m, short version) {
        ByteBufferAccessor accessor = MessageUtil.toByteBufferAccessor(m, version);
        byte[] out = new byte[accessor.buffer().remaining()];
        accessor.buffer().get(out);
        return out;
    }

    /** Reads a message of that name and moves `in` behind it. */
    static Message decode(String name, ByteBuffer in, short version) {
        Message m = fresh(name);
        m.read(new ByteBufferAccessor(in), version);
        return m;
    }

    /** The message in the form of Kafka's converter, records included. */
    static JsonNode toJson(Message m, short version) {
        try {
            Class<?> converter = Class.forName(m.getClass().getName() + "JsonConverter");
            JsonNode out = (JsonNode) converter.getMethod("write", m.getClass(), short.class, boolean.class)
                .invoke(null, m, version, true);
            // Through text once, so that bytes are strings to whoever looks.
            JsonNode json = JSON.readTree(JSON.writeValueAsBytes(out));
            fillRecords(m, json);
            return json;
        } catch (InvocationTargetException e) {
            throw unwrapped(e);
        } catch (ReflectiveOperationException | java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The bytes of what a records getter gave, or null. */
    static byte[] recordBytes(Object records) {
        if (records == null) {
            return null;
        }
        ByteBuffer b = ((ByteBuffer) get(records, "buffer")).duplicate();
        byte[] out = new byte[b.remaining()];
        b.get(out);
        return out;
    }

    /** Kafka's converters write an empty string for records; this puts the bytes in their place. */
    private static void fillRecords(Object struct, JsonNode json) {
        if (struct instanceof Collection<?> list) {
            Iterator<?> elements = list.iterator();
            json.forEach(e -> fillRecords(elements.next(), e));
            return;
        }
        if (!(struct instanceof Message) || !json.isObject()) {
            return;
        }
        for (Map.Entry<String, JsonNode> e : json.properties()) {
            if (e.getValue().isContainerNode()) {
                fillRecords(get(struct, e.getKey()), e.getValue());
            } else if (e.getValue().isTextual() && isRecords(struct, e.getKey())) {
                e.setValue(TextNode.valueOf(Base64.getEncoder().encodeToString(recordBytes(get(struct, e.getKey())))));
            }
        }
    }

    private static boolean isRecords(Object struct, String field) {
        Object value = get(struct, field);
        return value != null && value.getClass().getSimpleName().endsWith("Records");
    }

    /** A getter's value: `name` as in the JSON. */
    static Object get(Object struct, String name) {
        try {
            return struct.getClass().getMethod(name).invoke(struct);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(struct.getClass() + "." + name, e);
        }
    }

    /** Sets one field of a struct from JSON. */
    static void set(Object struct, String name, JsonNode value) {
        Method setter = setters(struct.getClass()).get(name);
        if (setter == null) {
            throw new IllegalArgumentException(struct.getClass().getSimpleName() + " has no field " + name);
        }
        try {
            setter.invoke(struct, convert(setter.getGenericParameterTypes()[0], value));
        } catch (InvocationTargetException e) {
            throw unwrapped(e);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The object at a JSON pointer such as /topics/0/partitions/1; "" is the message itself. */
    static Object at(Object root, String pointer) {
        Object here = root;
        for (String step : pointer.split("/")) {
            if (step.isEmpty()) {
                continue;
            }
            if (here instanceof Collection<?> list) {
                Iterator<?> it = list.iterator();
                for (int i = Integer.parseInt(step); i > 0; i--) {
                    it.next();
                }
                here = it.next();
            } else {
                here = get(here, step);
            }
        }
        return here;
    }

    /** Adds unknown tags, given by JSON pointer as a list of `tag` and `hex`. */
    static void addTags(Message m, JsonNode tags) {
        for (Map.Entry<String, JsonNode> e : tags.properties()) {
            Message struct = (Message) at(m, e.getKey());
            for (JsonNode t : e.getValue()) {
                struct.unknownTaggedFields().add(new RawTaggedField(t.get("tag").intValue(), unhex(t.get("hex").textValue())));
            }
        }
    }

    static String hex(byte[] b) {
        return HexFormat.of().formatHex(b);
    }

    static byte[] unhex(String s) {
        return HexFormat.of().parseHex(s);
    }

    private static Class<?> classOf(String name) {
        Class<?> c = lookUp(name);
        if (c == null) {
            throw new IllegalArgumentException("no generated class for " + name);
        }
        return c;
    }

    private static Class<?> lookUp(String name) {
        return CLASSES.computeIfAbsent(name, n -> {
            for (String p : PACKAGES) {
                // Requests, responses and headers carry the suffix Data; the data specs don't.
                for (String suffix : List.of("Data", "")) {
                    try {
                        return Class.forName(p + n + suffix);
                    } catch (ClassNotFoundException e) {
                        continue;
                    }
                }
            }
            return null;
        });
    }

    private static Object instance(Class<?> c) {
        try {
            return c.getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(c.getName(), e);
        }
    }

    private static void bind(Object struct, JsonNode json) {
        json.properties().forEach(e -> set(struct, e.getKey(), e.getValue()));
    }

    private static Map<String, Method> setters(Class<?> c) {
        return SETTERS.computeIfAbsent(c, k -> {
            Map<String, Method> out = new HashMap<>();
            for (Method m : k.getMethods()) {
                if (m.getName().startsWith("set") && m.getParameterCount() == 1 && m.getReturnType() == k) {
                    String rest = m.getName().substring(3);
                    out.put(Character.toLowerCase(rest.charAt(0)) + rest.substring(1), m);
                }
            }
            return out;
        });
    }

    private static Object convert(Type type, JsonNode v) {
        if (v.isNull()) {
            return null;
        }
        if (type instanceof ParameterizedType list) {
            List<Object> out = new ArrayList<>();
            v.forEach(e -> out.add(convert(list.getActualTypeArguments()[0], e)));
            return out;
        }
        Class<?> c = (Class<?>) type;
        Object simple = convertSimple(c, v);
        if (simple != null) {
            return simple;
        }
        Object struct = instance(c);
        if (struct instanceof Collection<?>) {
            fill(struct, ((ParameterizedType) c.getGenericSuperclass()).getActualTypeArguments()[0], v);
        } else {
            bind(struct, v);
        }
        return struct;
    }

    @SuppressWarnings("unchecked")
    private static void fill(Object collection, Type element, JsonNode v) {
        // The mapKey collections refuse nothing: one key may stand in them twice.
        v.forEach(e -> {
            if (!((Collection<Object>) collection).add(convert(element, e))) {
                throw new IllegalStateException("element refused: " + e);
            }
        });
    }

    private static Object convertSimple(Class<?> c, JsonNode v) {
        return switch (c.getSimpleName()) {
            case "boolean", "Boolean" -> v.booleanValue();
            case "byte", "Byte" -> (byte) v.intValue();
            case "short", "Short" -> (short) v.intValue();
            case "int", "Integer" -> v.intValue();
            case "long", "Long" -> v.longValue();
            case "double", "Double" -> v.isTextual() ? Double.valueOf(v.textValue()) : (Double) v.doubleValue();
            case "String" -> v.textValue();
            case "Uuid" -> Uuid.fromString(v.textValue());
            case "byte[]" -> Base64.getDecoder().decode(v.textValue());
            case "ByteBuffer" -> ByteBuffer.wrap(Base64.getDecoder().decode(v.textValue()));
            case "BaseRecords", "MemoryRecords", "Records" ->
                records(Base64.getDecoder().decode(v.textValue()));
            default -> null;
        };
    }

    private static Object records(byte[] bytes) {
        for (String name : RECORDS) {
            try {
                return Class.forName(name).getMethod("readableRecords", ByteBuffer.class)
                    .invoke(null, ByteBuffer.wrap(bytes));
            } catch (ClassNotFoundException e) {
                continue;
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("no MemoryRecords on the class path");
    }

    private static RuntimeException unwrapped(InvocationTargetException e) {
        if (e.getCause() instanceof RuntimeException r) {
            return r;
        }
        return new IllegalStateException(e.getCause());
    }
}
