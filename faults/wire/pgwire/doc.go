// Package pgwire reads the PostgreSQL protocol on one connection: where a
// message ends, which messages make one exchange, and what became of it. It
// does no I/O, keeps no bytes, and changes none; [New] gives a
// [frame.Conversation].
//
// Facts it rests on, from the PostgreSQL manual, part VII "Frontend/Backend
// Protocol" (chapters "Message Flow", "Message Formats", "Streaming Replication
// Protocol"), and where the manual is silent from the server's
// backend/tcop/postgres.c, backend_startup.c and commands/copyfromparse.c:
//
//   - A message is a type byte and a big-endian int32 length that counts itself.
//     Until the startup message the client's packets have no type byte. A start-up
//     packet has at most 10000 bytes, so its first byte is always 0, and no type
//     byte is 0: the two cannot be confused, and Split needs no state for them.
//   - SSLRequest and GSSENCRequest are answered by one byte without a length: N
//     refuses, S and G mean that TLS or GSS follows. An old or overloaded server
//     answers with a whole ErrorResponse instead. A client that starts TLS without
//     asking (sslnegotiation=direct) sends 0x16 first, which is no type byte.
//   - CancelRequest comes alone on a connection of its own and is not answered.
//   - Extended queries outside a transaction block run in an implicit transaction
//     that commits at Sync. So the last Execute ahead of a Sync is answered only by
//     ReadyForQuery; an earlier one by its own CommandComplete, EmptyQueryResponse,
//     PortalSuspended or ErrorResponse.
//   - After an error in an extended query the server discards everything, simple
//     queries included, until a Sync. An error in a simple query discards only the
//     rest of that query.
//   - A COMMIT of a failed transaction is answered with the tag ROLLBACK; ROLLBACK
//     TO SAVEPOINT has that tag too and ends nothing.
//   - While the server takes COPY data it ignores Sync and Flush, so libpq sends
//     another Sync behind CopyDone.
//   - In CopyBoth mode CopyData carries its own type byte: w and k from the server
//     (XLogData, keepalive), r and h from the client (status, hot standby feedback).
//   - Protocol 3.2 (PostgreSQL 18) lengthens the secret of BackendKeyData and of
//     CancelRequest; the process id stays in the first four bytes.
//
// What only a reply can tell is on the reply. What a request promises (that it
// begins or ends a block, that the transaction so far was idle) is on the
// request, as far as the replies that have passed can tell.
//
// [Label] names SQL. It reads words, names, strings, comments and parentheses,
// and no more grammar than a name needs; what it does not know is named by its
// first word.
package pgwire
