import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Prints what a release of Kafka knows, a line for each fact: errors, levels, features, APIs, and the layout of the messages whose
 * classes are named in the arguments (those whose definition is not in the jars). Reflection where releases since 3.9 differ.
 */
public class Facts {
    public static void main(String[] names) throws Exception {
        for (Errors error : Errors.values()) {
            print("error", error.code(), error.name(), error.message());
        }
        for (MetadataVersion level : MetadataVersion.VERSIONS) {
            if (level.featureLevel() >= 1) {
                print("level", level.featureLevel(), level.version(), level.compareTo(MetadataVersion.LATEST_PRODUCTION) <= 0, says(level));
            }
        }
        features();
        for (ApiKeys key : ApiKeys.values()) {
            api(key);
        }
        for (String name : names) {
            message(Class.forName(name));
        }
    }

    /** What the level's own questions answer: which of them are true, and the versions of records that depend on the level. */
    private static String says(MetadataVersion level) throws Exception {
        Map<String, String> answers = new TreeMap<>();
        for (Method method : MetadataVersion.class.getDeclaredMethods()) {
            String name = method.getName();
            if (method.getParameterCount() > 0 || Modifier.isStatic(method.getModifiers()) || !Modifier.isPublic(method.getModifiers())) {
                continue;
            }
            if (name.endsWith("RecordVersion")) {
                // Some refuse a level that has no such record.
                try {
                    answers.put(name, name + "=" + method.invoke(level));
                } catch (java.lang.reflect.InvocationTargetException refused) {
                    continue;
                }
            } else if (name.startsWith("is") && !name.equals("isProduction") && Boolean.TRUE.equals(method.invoke(level))) {
                answers.put(name, name);
            } else if (name.equals("didMetadataChange") && Boolean.TRUE.equals(method.invoke(level))) {
                answers.put(name, name);
            }
        }
        return String.join(" ", answers.values());
    }

    private static void features() throws Exception {
        print("range", "metadata.version", oldest().featureLevel(), MetadataVersion.LATEST_PRODUCTION.featureLevel());
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.server.common.Feature");
        } catch (ClassNotFoundException older) {
            type = Class.forName("org.apache.kafka.server.common.Features");
        }
        for (Object feature : (List<?>) type.getField("PRODUCTION_FEATURES").get(null)) {
            String name = (String) call(feature, "featureName");
            print("range", name, call(feature, "minimumProduction"), call(feature, "latestProduction"));
            for (Object level : (Object[]) call(feature, "featureVersions")) {
                print("feature", name, call(level, "featureLevel"), ((MetadataVersion) call(level, "bootstrapMetadataVersion")).featureLevel(),
                    new TreeMap<>((Map<?, ?>) call(level, "dependencies")));
            }
        }
    }

    private static MetadataVersion oldest() throws Exception {
        try {
            return (MetadataVersion) MetadataVersion.class.getField("MINIMUM_VERSION").get(null);
        } catch (NoSuchFieldException older) {
            return (MetadataVersion) MetadataVersion.class.getField("MINIMUM_KRAFT_VERSION").get(null);
        }
    }

    private static Object call(Object target, String name) throws Exception {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(target);
                }
            }
        }
        throw new NoSuchMethodException(target.getClass() + "." + name);
    }

    private static void api(ApiKeys key) {
        if (key.oldestVersion() > key.latestVersion()) {
            return;
        }
        List<String> listeners = new ArrayList<>();
        for (ListenerType listener : ListenerType.values()) {
            if (key.inScope(listener)) {
                listeners.add(listener.name().toLowerCase(java.util.Locale.ROOT));
            }
        }
        print("api", key.id, key.messageType.name, key.oldestVersion(), key.latestVersion(false), key.latestVersion(true), String.join(",", listeners), key.forwardable);
    }

    private static void message(Class<?> type) throws Exception {
        Object[] schemas = (Object[]) type.getField("SCHEMAS").get(null);
        int low = type.getField("LOWEST_SUPPORTED_VERSION").getShort(null);
        int key = type.getDeclaredConstructor().newInstance() instanceof ApiMessage message ? message.apiKey() : -1;
        print("message", type.getName(), key, low, schemas.length - 1);
        for (int version = low; version < schemas.length; version++) {
            struct(type, (Schema) schemas[version], version, 0);
        }
    }

    private static void struct(Class<?> type, Schema schema, int version, int depth) throws Exception {
        Map<String, Field> fields = new TreeMap<>();
        for (Field field : type.getDeclaredFields()) {
            fields.put(snakeCase(field.getName()), field);
        }
        Object defaults = type.getDeclaredConstructor().newInstance();
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tags) {
                print("flexible", version, depth);
                Field known = TaggedFields.class.getDeclaredField("fields");
                known.setAccessible(true);
                for (Map.Entry<?, ?> tag : ((Map<?, ?>) known.get(tags)).entrySet()) {
                    var one = (org.apache.kafka.common.protocol.types.Field) tag.getValue();
                    field(fields, defaults, one.name, one.type, tag.getKey().toString(), version, depth);
                }
            } else {
                field(fields, defaults, bound.def.name, bound.def.type, "", version, depth);
            }
        }
    }

    private static void field(Map<String, Field> fields, Object defaults, String name, org.apache.kafka.common.protocol.types.Type wire, String tag,
            int version, int depth) throws Exception {
        Field field = fields.get(name);
        field.setAccessible(true);
        boolean isArray = wire.isArray();
        org.apache.kafka.common.protocol.types.Type element = isArray ? wire.arrayElementType().orElseThrow() : wire;
        String typeName;
        Class<?> inner = null;
        if (element instanceof Schema) {
            inner = structClass(field.getGenericType());
            typeName = inner.getSimpleName();
        } else {
            typeName = element.toString().toLowerCase(java.util.Locale.ROOT).replace("compact_", "").replace("nullable_", "").replace("boolean", "bool");
        }
        print("field", version, depth, field.getName(), (isArray ? "[]" : "") + typeName, wire.isNullable(), tag, fallback(field.get(defaults)));
        if (inner != null) {
            struct(inner, (Schema) element, version, depth + 1);
        }
    }

    /** The class of a struct behind a field: its own, a list's, or that of a set with keys. */
    private static Class<?> structClass(Type type) {
        if (type instanceof ParameterizedType list) {
            return (Class<?>) list.getActualTypeArguments()[0];
        }
        Class<?> named = (Class<?>) type;
        return Collection.class.isAssignableFrom(named) ? structClass(named.getGenericSuperclass()) : named;
    }

    /** A default as schemas write it, nothing for the zero of the type. */
    private static String fallback(Object value) {
        if (value == null) {
            return "null";
        }
        boolean isZero = value.equals(false) || value.equals("") || value.equals(Uuid.ZERO_UUID) || value instanceof Number number && number.doubleValue() == 0
            || value instanceof Collection<?> || value.getClass().isArray() && Array.getLength(value) == 0
            || !(value instanceof Number || value instanceof Boolean || value instanceof String);
        return isZero ? "" : value.toString();
    }

    private static String snakeCase(String name) {
        StringBuilder snake = new StringBuilder();
        boolean wasUpper = true;
        for (char letter : name.toCharArray()) {
            if (Character.isUpperCase(letter) && !wasUpper) {
                snake.append('_');
            }
            wasUpper = Character.isUpperCase(letter);
            snake.append(Character.toLowerCase(letter));
        }
        return snake.toString();
    }

    private static void print(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : "\t").append(String.valueOf(word).replace("\n", "\\n").replace("\t", "\\t"));
        }
        System.out.println(line);
    }
}
