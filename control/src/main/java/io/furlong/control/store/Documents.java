package io.furlong.control.store;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import io.furlong.control.StoreException;
import io.furlong.core.InitFrom;
import io.furlong.core.RegistrationId;
import java.io.IOException;
import java.nio.file.Path;

/** Values as JSON documents in the database: records by their components, fields of a later version ignored. */
final class Documents {
    private static final ObjectMapper JSON = JsonMapper.builder()
            .addModule(new Jdk8Module())
            .addModule(new JavaTimeModule())
            .addModule(new SimpleModule()
                    .addSerializer(new PathWriter()).addDeserializer(Path.class, new PathReader())
                    .addSerializer(new IdWriter()).addDeserializer(RegistrationId.class, new IdReader())
                    .setMixInAnnotation(InitFrom.class, InitFromTypes.class))
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
            .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
            .disable(MapperFeature.AUTO_DETECT_GETTERS, MapperFeature.AUTO_DETECT_IS_GETTERS)
            .visibility(PropertyAccessor.FIELD, JsonAutoDetect.Visibility.ANY)
            .build();

    private Documents() {}

    static String write(Object value) {
        try {
            return JSON.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new StoreException("can't write " + value.getClass().getSimpleName() + " as JSON: " + e.getOriginalMessage(), e);
        }
    }

    static <T> T read(String text, Class<T> type) {
        try {
            return JSON.readValue(text, type);
        } catch (JsonProcessingException e) {
            throw new StoreException("can't read a stored " + type.getSimpleName() + ": " + e.getOriginalMessage(), e);
        }
    }

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
    @JsonSubTypes({
        @JsonSubTypes.Type(value = InitFrom.Peft.class, name = "peft"),
        @JsonSubTypes.Type(value = InitFrom.Version.class, name = "version"),
        @JsonSubTypes.Type(value = InitFrom.Resume.class, name = "resume")})
    private interface InitFromTypes {}

    private static final class PathWriter extends StdSerializer<Path> {
        private static final long serialVersionUID = 1L;

        PathWriter() {
            super(Path.class);
        }

        @Override
        public void serialize(Path path, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeString(path.toString());
        }

        @Override
        public void serializeWithType(Path path, JsonGenerator out, SerializerProvider provider,
                                      com.fasterxml.jackson.databind.jsontype.TypeSerializer type) throws IOException {
            serialize(path, out, provider);
        }
    }

    private static final class PathReader extends StdDeserializer<Path> {
        private static final long serialVersionUID = 1L;

        PathReader() {
            super(Path.class);
        }

        @Override
        public Path deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return Path.of(in.getValueAsString());
        }
    }

    private static final class IdWriter extends StdSerializer<RegistrationId> {
        private static final long serialVersionUID = 1L;

        IdWriter() {
            super(RegistrationId.class);
        }

        @Override
        public void serialize(RegistrationId id, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeString(id.hex());
        }
    }

    private static final class IdReader extends StdDeserializer<RegistrationId> {
        private static final long serialVersionUID = 1L;

        IdReader() {
            super(RegistrationId.class);
        }

        @Override
        public RegistrationId deserialize(JsonParser in, DeserializationContext context) throws IOException {
            return new RegistrationId(in.getValueAsString());
        }
    }
}
