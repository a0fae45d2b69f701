package io.furlong.torch.tokenizer;

import com.hubspot.jinjava.el.JinjavaInterpreterResolver;
import java.beans.FeatureDescriptor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import jinjava.javax.el.CompositeELResolver;
import jinjava.javax.el.ELContext;
import jinjava.javax.el.ELResolver;
import org.jspecify.annotations.NullUnmarked;

/**
 * Python's string methods on Java strings inside a template ({@code message.content.startswith('x')}).
 * A method that isn't known here is an error, since a template that goes on without it would give a wrong prompt.
 */
@NullUnmarked
final class PythonStrings extends CompositeELResolver {
    PythonStrings() {
        add(new Strings());
        add(JinjavaInterpreterResolver.DEFAULT_RESOLVER_READ_ONLY);
    }

    private static final class Strings extends ELResolver {
        @Override
        public Object invoke(ELContext context, Object base, Object method, Class<?>[] types, Object[] params) {
            if (!(base instanceof CharSequence) || params == null) {
                return null;
            }
            context.setPropertyResolved(true);
            if (method.equals("join") && params.length == 1 && params[0] instanceof Collection<?> parts) {
                return parts.stream().map(String::valueOf).collect(Collectors.joining(base.toString()));
            }
            String[] args = Arrays.stream(params).map(String::valueOf).toArray(String[]::new);
            return call(base.toString(), String.valueOf(method), args);
        }

        private static Object call(String s, String method, String[] args) {
            return switch (method) {
                case "startswith" -> s.startsWith(args[0]);
                case "endswith" -> s.endsWith(args[0]);
                case "strip" -> strip(s, args, true, true);
                case "lstrip" -> strip(s, args, true, false);
                case "rstrip" -> strip(s, args, false, true);
                case "upper" -> s.toUpperCase(Locale.ROOT);
                case "lower" -> s.toLowerCase(Locale.ROOT);
                case "capitalize" -> s.isEmpty() ? s : s.substring(0, 1).toUpperCase(Locale.ROOT) + s.substring(1).toLowerCase(Locale.ROOT);
                case "title" -> title(s);
                case "replace" -> s.replace(args[0], args[1]);
                case "find" -> (long) s.indexOf(args[0]);
                case "count" -> (long) split(s, args[0], Integer.MAX_VALUE).size() - 1;
                case "split" -> args.length == 0 ? Arrays.stream(s.strip().split("\\s+")).filter(w -> !w.isEmpty()).toList()
                        : split(s, args[0], args.length > 1 ? Integer.parseInt(args[1]) : Integer.MAX_VALUE);
                case "splitlines" -> s.lines().toList();
                case "removeprefix" -> s.startsWith(args[0]) ? s.substring(args[0].length()) : s;
                case "removesuffix" -> s.endsWith(args[0]) ? s.substring(0, s.length() - args[0].length()) : s;
                case "rfind" -> (long) s.lastIndexOf(args[0]);
                case "isdigit" -> !s.isEmpty() && s.chars().allMatch(Character::isDigit);
                case "isspace" -> !s.isEmpty() && s.chars().allMatch(Character::isWhitespace);
                default -> throw new UnsupportedOperationException("strings have no method '" + method + "' here");
            };
        }

        private static String strip(String s, String[] args, boolean left, boolean right) {
            int from = 0;
            int to = s.length();
            while (left && from < to && strips(s.charAt(from), args)) {
                from++;
            }
            while (right && to > from && strips(s.charAt(to - 1), args)) {
                to--;
            }
            return s.substring(from, to);
        }

        private static boolean strips(char c, String[] args) {
            return args.length == 0 ? Character.isWhitespace(c) : args[0].indexOf(c) >= 0;
        }

        private static String title(String s) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < s.length(); i++) {
                boolean inside = i > 0 && Character.isLetter(s.charAt(i - 1));
                text.append(inside ? Character.toLowerCase(s.charAt(i)) : Character.toUpperCase(s.charAt(i)));
            }
            return text.toString();
        }

        private static List<String> split(String s, String separator, int limit) {
            List<String> parts = new ArrayList<>();
            int from = 0;
            for (int at = s.indexOf(separator); at >= 0 && parts.size() < limit; at = s.indexOf(separator, from)) {
                parts.add(s.substring(from, at));
                from = at + separator.length();
            }
            parts.add(s.substring(from));
            return parts;
        }

        @Override
        public Object getValue(ELContext context, Object base, Object property) {
            return null;
        }

        @Override
        public Class<?> getType(ELContext context, Object base, Object property) {
            return null;
        }

        @Override
        public void setValue(ELContext context, Object base, Object property, Object value) {}

        @Override
        public boolean isReadOnly(ELContext context, Object base, Object property) {
            return true;
        }

        @Override
        public Class<?> getCommonPropertyType(ELContext context, Object base) {
            return Object.class;
        }

        @Override
        public Iterator<FeatureDescriptor> getFeatureDescriptors(ELContext context, Object base) {
            return Collections.emptyIterator();
        }
    }
}
