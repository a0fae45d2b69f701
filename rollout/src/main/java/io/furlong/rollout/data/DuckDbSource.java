package io.furlong.rollout.data;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.core.DataConfig;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import io.furlong.core.Seeds;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One dataset file, read through a DuckDB database of its own, so that one file's trouble is nobody else's. The records are
 * copied into a table once, as JSON text, and from there read in blocks by row number; a large file's table is kept on
 * disk. Every record is checked when the file is opened; in memory stays one number a record, and that only if some are left out
 * or the order is shuffled.
 */
final class DuckDbSource implements PromptSource {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long IN_MEMORY_BYTES = 64L << 20;
    private static final int BLOCK = 64;
    private static final int FIRST_ROWS = 16;

    private final DatasetFile file;
    private final DataConfig data;
    private final RowReader reader;
    private final long runSeed;
    private final String adapter;
    private final Datasets datasets;
    private final Connection database;
    private final Optional<Path> directory;
    private final String fingerprint;
    /** Records that are kept, in the order written; null when all are. */
    private final int @Nullable [] kept;
    private final int rows;
    private final long tooLong;

    private int orderEpoch = -1;
    private int[] order = {};
    private int blockEpoch = -1;
    private long blockStart;
    private List<Prompt> block = List.of();

    private DuckDbSource(DatasetFile file, DataConfig data, RowReader reader, long runSeed, String adapter, Datasets datasets,
                         Connection database, Optional<Path> directory, String fingerprint) throws SQLException {
        this.file = file;
        this.data = data;
        this.reader = reader;
        this.runSeed = runSeed;
        this.adapter = adapter;
        this.datasets = datasets;
        this.database = database;
        this.directory = directory;
        this.fingerprint = fingerprint;
        try (Statement s = database.createStatement()) {
            s.execute("CREATE TABLE records AS " + select(file, data, database));
        }
        IntStream.Builder keep = IntStream.builder();
        int all = 0;
        int left = 0;
        try (Statement s = database.createStatement();
             ResultSet r = s.executeQuery("SELECT rowid, record FROM records")) {
            for (; r.next(); all++) {
                if (r.getLong(1) != all) {
                    throw new IllegalStateException("DuckDB returned record " + r.getLong(1) + " in place " + all);
                }
                if (reader.check(text(r)) == RowReader.Verdict.KEEP) {
                    keep.add(all);
                } else {
                    left++;
                }
            }
        }
        rows = all - left;
        tooLong = left;
        kept = left == 0 ? null : keep.build().toArray();
    }

    /** Called on the pool. */
    static DuckDbSource open(DatasetFile file, DataConfig data, RowReader reader, long runSeed, String adapter, Datasets datasets) {
        String fingerprint = file.fingerprint();
        Optional<Path> directory = file.size() > IN_MEMORY_BYTES ? Optional.of(temporary(file)) : Optional.empty();
        Connection database = null;
        try {
            database = connect(directory);
            return new DuckDbSource(file, data, reader, runSeed, adapter, datasets, database, directory, fingerprint);
        } catch (SQLException | RuntimeException e) {
            close(database, directory);
            throw explained(file, e);
        }
    }

    /** Called on the pool. */
    static void checkFirstRows(DatasetFile file, DataConfig data, RowReader reader) {
        try (Connection database = connect(Optional.empty()); Statement s = database.createStatement();
             ResultSet r = s.executeQuery("SELECT row_number() OVER () - 1, * FROM (" + select(file, data, database) + " LIMIT " + FIRST_ROWS + ")")) {
            while (r.next()) {
                reader.check(text(r));
            }
        } catch (SQLException | RuntimeException e) {
            throw explained(file, e);
        }
    }

    private static Path temporary(DatasetFile file) {
        try {
            return Files.createTempDirectory("furlong-data-");
        } catch (IOException e) {
            throw new DatasetException(file.path(), "needs a temporary directory, since it is large, and none can be made (" + e + ")", e);
        }
    }

    private static Connection connect(Optional<Path> directory) throws SQLException {
        Properties settings = new Properties();
        settings.setProperty("threads", "1");
        settings.setProperty("memory_limit", "512MB");
        settings.setProperty("autoinstall_known_extensions", "false");
        settings.setProperty("jdbc_stream_results", "true");
        return DriverManager.getConnection("jdbc:duckdb:" + directory.map(d -> d.resolve("rows.duckdb").toString()).orElse(""), settings);
    }

    /** The columns in use, as JSON text. */
    private static String select(DatasetFile file, DataConfig data, Connection database) throws SQLException {
        String path = "'" + file.path().toString().replace("'", "''") + "'";
        return switch (file.format()) {
            case JSONL -> "SELECT CAST(json AS VARCHAR) AS record FROM read_ndjson_objects(" + path + ")";
            case PARQUET -> selectColumns(file, data, database, "read_parquet(" + path + ")");
            case CSV -> selectColumns(file, data, database,
                    "read_csv(" + path + ", header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')");
        };
    }

    private static String selectColumns(DatasetFile file, DataConfig data, Connection database, String table) throws SQLException {
        List<String> there = new ArrayList<>();
        try (Statement s = database.createStatement(); ResultSet r = s.executeQuery("DESCRIBE SELECT * FROM " + table)) {
            while (r.next()) {
                there.add(r.getString(1));
            }
        }
        List<String> wanted = Stream.of(Optional.of(data.inputKey()), data.labelKey(), data.metadataKey()).flatMap(Optional::stream)
                .distinct().toList();
        for (String column : wanted) {
            if (!there.contains(column)) {
                throw new DatasetException(file.path(), "there is no column '" + column + "'; there are " + String.join(", ", there));
            }
        }
        String fields = wanted.stream().map(c -> quoted(c) + " := " + quoted(c)).collect(Collectors.joining(", "));
        return "SELECT CAST(to_json(struct_pack(" + fields + ")) AS VARCHAR) AS record FROM " + table;
    }

    private static String quoted(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }

    private static RowReader.Text text(ResultSet r) throws SQLException {
        return new RowReader.Text(r.getLong(1), r.getString(2));
    }

    /** DuckDB's messages span lines and speak of its own functions; say where the file is wrong. */
    private static RuntimeException explained(DatasetFile file, Exception e) {
        if (e instanceof DatasetException d) {
            return d;
        }
        if (file.format() == DatasetFile.Format.JSONL) {
            Optional<DatasetException> line = firstBadLine(file);
            if (line.isPresent()) {
                return line.get();
            }
        }
        String message = Optional.ofNullable(e.getMessage()).orElse(e.toString()).lines().map(String::strip)
                .filter(l -> !l.isEmpty()).limit(2).collect(Collectors.joining(" "));
        return new DatasetException(file.path(), "can't be read: " + message, e);
    }

    private static Optional<DatasetException> firstBadLine(DatasetFile file) {
        try (BufferedReader in = Files.newBufferedReader(file.path())) {
            long number = 0;
            for (String text = in.readLine(); text != null; text = in.readLine()) {
                number++;
                if (text.isBlank()) {
                    continue;
                }
                try {
                    JsonNode node = JSON.readTree(text);
                    if (!node.isObject()) {
                        return Optional.of(new DatasetException(file.path(), "line " + number + ": must be a JSON object"));
                    }
                } catch (JsonProcessingException e) {
                    return Optional.of(new DatasetException(file.path(), "line " + number + ": is no valid JSON: "
                            + e.getOriginalMessage() + "; each line must be one JSON object"));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Override
    public Prompt row(int epoch, long row) {
        if (row >= rows) {
            throw new DatasetException(file.path(), "has no row " + row + " any more; it has " + rows);
        }
        return datasets.onPool(() -> read(epoch, new int[] {(int) row})).getFirst();
    }

    @Override
    public Optional<Prompt> at(int epoch, long position) {
        if (position >= rows) {
            return Optional.empty();
        }
        if (epoch != blockEpoch || position < blockStart || position >= blockStart + block.size()) {
            int from = (int) position;
            int to = Math.min(rows, from + BLOCK);
            int[] wanted = switch (data.order()) {
                case AS_WRITTEN -> IntStream.range(from, to).toArray();
                case SHUFFLED -> Arrays.copyOfRange(order(epoch), from, to);
            };
            block = datasets.onPool(() -> read(epoch, wanted));
            blockEpoch = epoch;
            blockStart = position;
        }
        return Optional.of(block.get((int) (position - blockStart)));
    }

    /** The rows of one pass, shuffled (Fisher and Yates) by a seed that only the run, the adapter and the pass decide. */
    private int[] order(int epoch) {
        if (orderEpoch != epoch) {
            int[] o = IntStream.range(0, rows).toArray();
            Random random = new Random(Seeds.order(runSeed, adapter, epoch));
            for (int i = rows - 1; i > 0; i--) {
                int j = random.nextInt(i + 1);
                int t = o[i];
                o[i] = o[j];
                o[j] = t;
            }
            order = o;
            orderEpoch = epoch;
        }
        return order;
    }

    /** Prompts in the order of {@code wanted}. */
    private List<Prompt> read(int epoch, int[] wanted) throws SQLException {
        Map<Long, Integer> rowOfRecord = new HashMap<>();
        for (int row : wanted) {
            rowOfRecord.put((long) (kept == null ? row : kept[row]), row);
        }
        Map<Integer, Prompt> found = new HashMap<>();
        String places = rowOfRecord.keySet().stream().map(String::valueOf).collect(Collectors.joining(","));
        try (PreparedStatement s = database.prepareStatement(
                "SELECT rowid, record FROM records WHERE rowid IN (" + places + ")"); ResultSet r = s.executeQuery()) {
            while (r.next()) {
                RowReader.Text t = text(r);
                int row = rowOfRecord.get(t.number());
                found.put(row, reader.prompt(t, row, epoch));
            }
        }
        return Arrays.stream(wanted).mapToObj(found::get).toList();
    }

    @Override
    public long rows() {
        return rows;
    }

    @Override
    public long tooLong() {
        return tooLong;
    }

    @Override
    public String fingerprint() {
        return fingerprint;
    }

    @Override
    public void close() {
        close(database, directory);
    }

    private static void close(@Nullable Connection database, Optional<Path> directory) {
        try {
            if (database != null) {
                database.close();
            }
            if (directory.isPresent()) {
                try (Stream<Path> files = Files.walk(directory.get())) {
                    for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
                        Files.deleteIfExists(p);
                    }
                }
            }
        } catch (SQLException | IOException e) {
            org.slf4j.LoggerFactory.getLogger(DuckDbSource.class).warn("a dataset's temporary table was not cleaned up: {}", e.toString());
        }
    }
}
