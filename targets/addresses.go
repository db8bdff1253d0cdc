package targets

import (
	"crypto/sha1"
	"fmt"
)

// Addresses is what a template can name: {{.Postgres.URL}}, {{.Broker.URL}},
// {{.Topic}} and so on.
type Addresses struct {
	Postgres PostgresAddress
	Broker   BrokerAddress
	// Topic is the trial's own topic, Stream the JetStream stream that holds it.
	Topic, Stream string
	// Instance is relay.0.
	Instance string
	// Port is a loopback port that is the instance's to listen on.
	Port string
	// Files is the folder of the instance's files, without a slash at its end.
	Files string
	// Order and Customer are set when a statement or a request for one order is
	// expanded.
	Order, Customer string
	// Saved is what earlier answers left for a request.
	Saved map[string]string
}

// PostgresAddress is the trial's database through the instance's own proxy.
type PostgresAddress struct {
	URL, Host, Port, User, Password, Database string
}

// BrokerAddress is the broker through the instance's own proxy.
type BrokerAddress struct {
	URL, Addr, Host, Port, User, Password string
}

// UUID is the order's: {{.UUID}}.
func (a Addresses) UUID() string { return UUID(a.Order) }

// CustomerUUID is the customer's: {{.CustomerUUID}}.
func (a Addresses) CustomerUUID() string { return UUID(a.Customer) }

// UUID is the UUID that stands for a token, always the same one, in lower case
// with dashes: for services that want a UUID in the field they keep. It is of
// version 5 (RFC 9562, section 5.5) in a name space of our own.
func UUID(token string) string {
	sum := sha1.Sum([]byte("\x5c\x1e\xa7\x60\x0b\x3d\x4f\x52\x9d\x77\x21\xc4\x8e\x06\xb3\xf9" + token))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
