package oracle;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** A message spec as it lies in a jar, with each field's versions cut to those of what holds it. */
final class Spec {
    private static final ObjectMapper COMMENTED = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
        .build();

    final String name;
    final String type;
    final Integer apiKey;
    final Versions valid;
    final Versions flexible;
    final List<Field> fields;

    private Spec(JsonNode json) {
        name = json.get("name").textValue();
        type = json.get("type").textValue();
        apiKey = json.has("apiKey") ? (Integer) json.get("apiKey").intValue() : null;
        valid = Versions.parse(json.get("validVersions").textValue());
        flexible = Versions.parse(json.path("flexibleVersions").asText("none"));
        Map<String, JsonNode> common = new HashMap<>();
        json.path("commonStructs").forEach(s -> common.put(s.get("name").textValue(), s));
        fields = fields(json.get("fields"), common, valid);
    }

    /** The specs of the class path's jars whose file names begin with one of `jars`, by message name, the dead ones left out. */
    static List<Spec> load(List<String> jars) throws IOException {
        Map<String, Spec> out = new TreeMap<>();
        for (String entry : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
            String file = Path.of(entry).getFileName().toString();
            if (!file.endsWith(".jar") || jars.stream().noneMatch(j -> file.matches(j + "-[0-9].*"))) {
                continue;
            }
            try (JarFile jar = new JarFile(entry)) {
                for (JarEntry e : (Iterable<JarEntry>) jar.stream()::iterator) {
                    if (e.getName().matches("common/message/.*\\.json")) {
                        Spec s = read(jar, e);
                        if (!s.valid.isNone()) {
                            out.put(s.name, s);
                        }
                    }
                }
            }
        }
        if (out.isEmpty()) {
            throw new IOException("no specs in jars " + jars);
        }
        return new ArrayList<>(out.values());
    }

    private static Spec read(JarFile jar, JarEntry e) throws IOException {
        try (InputStream in = jar.getInputStream(e)) {
            return new Spec(COMMENTED.readTree(in));
        }
    }

    private static List<Field> fields(JsonNode list, Map<String, JsonNode> common, Versions parent) {
        List<Field> out = new ArrayList<>();
        if (list != null) {
            list.forEach(f -> out.add(new Field(f, common, parent)));
        }
        return out;
    }

    /** An inclusive range of versions; empty when `from` is above `to`. */
    record Versions(int from, int to) {
        static final Versions NONE = new Versions(0, -1);

        static Versions parse(String s) {
            if (s.equals("none")) {
                return NONE;
            }
            if (s.endsWith("+")) {
                return new Versions(Integer.parseInt(s.substring(0, s.length() - 1)), Short.MAX_VALUE);
            }
            String[] ends = s.split("-");
            return new Versions(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]));
        }

        boolean isNone() {
            return from > to;
        }

        boolean has(int v) {
            return v >= from && v <= to;
        }

        Versions cut(Versions o) {
            return new Versions(Math.max(from, o.from), Math.min(to, o.to));
        }
    }

    /** A field. For an array, `type` is that of its elements; for a struct or an array of them, `fields` are its members. */
    static final class Field {
        final String name;
        final String type;
        final boolean array;
        final Versions versions;
        final Versions nullable;
        final boolean ignorable;
        final int tag;
        final Versions tagged;
        final String spelledDefault;
        final List<Field> fields;

        private Field(JsonNode json, Map<String, JsonNode> common, Versions parent) {
            String spelled = json.get("name").textValue();
            name = Character.toLowerCase(spelled.charAt(0)) + spelled.substring(1);
            String whole = json.get("type").textValue();
            array = whole.startsWith("[]");
            type = array ? whole.substring(2) : whole;
            // A field without versions is there in those in which it is tagged.
            versions = Versions.parse(json.path("versions").asText(json.path("taggedVersions").asText())).cut(parent);
            nullable = Versions.parse(json.path("nullableVersions").asText("none"));
            ignorable = json.path("ignorable").asBoolean(false);
            tag = json.path("tag").asInt(-1);
            tagged = Versions.parse(json.path("taggedVersions").asText("none"));
            spelledDefault = json.path("default").asText("");
            JsonNode members = json.get("fields");
            if (members == null && common.containsKey(type)) {
                members = common.get(type).get("fields");
            }
            fields = Spec.fields(members, common, versions);
        }

        boolean isStruct() {
            return !fields.isEmpty();
        }

        /** Whether null may stand there in version v. */
        boolean takesNull(int v) {
            return nullable.has(v) && versions.has(v);
        }
    }
}
