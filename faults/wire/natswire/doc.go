// Package natswire reads the NATS client protocol, JetStream included, on one
// connection: where a message ends, which messages make one exchange, and what
// became of it. It does no I/O, keeps no bytes, and changes none; [New] gives a
// [frame.Conversation].
//
// Facts it rests on, from the NATS documentation ("Client Protocol", "JetStream
// wire API Reference", and the architecture records ADR-4 headers, ADR-15
// JetStream subject mapping), and where it is silent from nats-server's parser.go,
// jetstream_api.go and consumer.go:
//
//   - A message is a control line that ends with CR LF (the server's parser takes a
//     bare LF too). Verbs are case-insensitive; fields are parted by spaces or tabs.
//     PUB, HPUB, MSG and HMSG announce in their last field how many bytes follow,
//     headers included, and CR LF stands behind those. HPUB and HMSG tell the
//     length of the headers one field earlier.
//   - The server speaks first, with INFO. tls_required there means that the client
//     goes on in TLS. A TLS ClientHello begins with 0x16, which begins no verb.
//   - CONNECT has no answer of its own unless verbose is set (+OK). Clients send
//     PING behind it, and the first PONG tells that it was accepted; -ERR that it was not.
//   - Nothing confirms a core PUB. A JetStream publish is a PUB with a reply subject,
//     on which {"stream","seq","duplicate"} or {"error"} comes back; a status of 503
//     says that no stream and no one else listens.
//   - A status is an HMSG without data whose header line reads "NATS/1.0 503": 100
//     idle heartbeat or flow control, 404 no messages, 408 timeout, 409 a consumer's trouble.
//   - A JetStream delivery has a reply subject that begins with $JS.ACK. and tells
//     where it comes from. Nine tokens: $JS.ACK, stream, consumer, deliveries, stream
//     sequence, consumer sequence, time, pending. Eleven or twelve: $JS.ACK, domain,
//     account, then the same, then perhaps a random token.
//   - A PUB to that subject acknowledges: nothing, +ACK or +OK; -NAK; +TERM; +WPI (in
//     progress); +NXT (acknowledge, and deliver the next to the reply subject).
//   - A pull is a PUB to $JS.API.CONSUMER.MSG.NEXT. with a reply subject on which
//     deliveries and statuses come, any number of them.
//   - $JS.<domain>.API. is $JS.API. of a JetStream domain.
package natswire
