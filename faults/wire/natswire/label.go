package natswire

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

const (
	ackPrefix = "$JS.ACK."
	// pullWords are the constant words of a pull.
	pullWords = "CONSUMER.MSG.NEXT"
)

// labelOf names what a client publishes. answered says that a reply subject,
// when there is one, waits for one answer.
func labelOf(m *frame.Message) (label string, answered bool) {
	if strings.HasPrefix(m.Subject, ackPrefix) {
		m.Sequence, m.Consumer = origin(m.Subject)
		return ackLabel(m.Data)
	}
	if api, found := apiOf(m.Subject); found {
		if strings.HasPrefix(api, pullWords+".") {
			return "pull", false
		}
		return "api " + apiLabel(api), true
	}
	switch {
	case strings.HasPrefix(m.Subject, "$JS.FC."):
		return "flow", false
	case strings.HasPrefix(m.Subject, "_INBOX."), strings.HasPrefix(m.Subject, "$SYS."), strings.HasPrefix(m.Subject, "$SRV."):
		if m.Reply != "" {
			return "request", true
		}
		return "reply", false
	}
	return "publish", true
}

// ackLabel names an acknowledgement by its payload.
func ackLabel(data []byte) (label string, answered bool) {
	switch {
	case bytes.HasPrefix(data, []byte("+NXT")):
		return "ack", false // the reply subject waits for deliveries
	case bytes.HasPrefix(data, []byte("-NAK")):
		return "nak", true
	case bytes.HasPrefix(data, []byte("+TERM")):
		return "term", true
	case bytes.HasPrefix(data, []byte("+WPI")):
		return "progress", true
	}
	return "ack", true
}

// origin reads where a delivery comes from off its ack subject. Of a subject
// of neither form it tells nothing.
func origin(subject string) (sequence uint64, consumer string) {
	tokens := strings.SplitN(subject, ".", 14)
	const consumerAt, sequenceAt = 3, 5
	shift := 0
	switch {
	case len(tokens) == 9:
	case len(tokens) == 11 || len(tokens) == 12:
		shift = 2 // domain and account stand in front
	default:
		return 0, ""
	}
	sequence, err := strconv.ParseUint(tokens[sequenceAt+shift], 10, 64)
	if err != nil {
		return 0, ""
	}
	return sequence, tokens[consumerAt+shift]
}

// apiOf cuts $JS.API. or $JS.<domain>.API. off.
func apiOf(subject string) (api string, found bool) {
	rest, found := strings.CutPrefix(subject, "$JS.")
	if !found {
		return "", false
	}
	if api, found = strings.CutPrefix(rest, "API."); found {
		return api, true
	}
	_, rest, _ = strings.Cut(rest, ".")
	return strings.CutPrefix(rest, "API.")
}

// apiLabel keeps the constant words of a JetStream API subject and drops the
// names of streams, consumers and peers.
func apiLabel(api string) string {
	words := strings.SplitN(api, ".", 4)
	n := apiWords(words)
	return strings.ToLower(strings.Join(words[:n], "."))
}

// apiWords is the number of constant words that an API subject begins with.
func apiWords(words []string) int {
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch at(0) {
	case "STREAM", "CONSUMER", "ACCOUNT", "META", "SERVER":
		switch at(1) {
		case "MSG", "LEADER", "PEER", "DURABLE", "STREAM":
			switch at(2) {
			case "GET", "DELETE", "NEXT", "STEPDOWN", "REMOVE", "EVACUATE", "CREATE", "MOVE", "CANCEL_MOVE":
				return 3
			}
			return 2
		case "CREATE", "UPDATE", "NAMES", "LIST", "INFO", "DELETE", "PURGE", "SNAPSHOT", "RESTORE", "CANCEL_MOVE",
			"PAUSE", "UNPIN", "RESET", "REMOVE", "EVACUATE", "RESCUE":
			return 2
		}
		return 1
	case "DIRECT":
		if at(1) == "GET" {
			return 2
		}
		return 1
	case "INFO":
		return 1
	}
	// An API of a later server: its first word may be a name, so it is not told.
	words[0] = "other"
	return 1
}
