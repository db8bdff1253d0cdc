package pgwire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readTag takes a command tag apart: "INSERT 0 1" is INSERT and 1. Rows is -1
// when the tag tells none.
func readTag(tag string) (verb string, rows int64) {
	i := strings.LastIndexByte(tag, ' ')
	if i < 0 {
		return tag, -1
	}
	n, err := strconv.ParseInt(tag[i+1:], 10, 64)
	if err != nil || n < 0 {
		return tag, -1
	}
	verb = tag[:i]
	if strings.HasPrefix(verb, "INSERT ") {
		verb = "INSERT" // the number between is the oid of old
	}
	return verb, n
}

// changingTag reports whether the rows that a tag counts were changed.
func changingTag(verb string) bool {
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "MERGE":
		return true
	}
	return false
}

// quietTag reports whether a tag tells of a statement without an effect on
// data, for statements whose SQL is not known.
func quietTag(verb string) bool {
	switch verb {
	case "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET", "RESET", "SHOW":
		return true
	}
	return false
}

// errorText reads an ErrorResponse: "23505: duplicate key ...". A fatal error
// is the last message of the connection.
func errorText(body []byte) (text string, fatal bool) {
	var code, message, severity, local []byte
	for len(body) > 1 && body[0] != 0 {
		field := body[0]
		var value []byte
		value, body = cstring(body[1:])
		switch field {
		case 'C':
			code = value
		case 'M':
			message = value
		case 'V':
			severity = value
		case 'S':
			local = value // may be translated
		}
	}
	if severity == nil {
		severity = local
	}
	fatal = bytes.Equal(severity, []byte("FATAL")) || bytes.Equal(severity, []byte("PANIC"))
	if len(code) == 0 {
		code = []byte("XX000")
	}
	return clean(string(code), 16) + ": " + clean(string(message), 400), fatal
}

// clean makes s one printable line of valid UTF-8, of at most limit bytes.
func clean(s string, limit int) string {
	plain := len(s) <= limit
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || r != ' ' && !unicode.IsPrint(r) {
			r = '_'
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
