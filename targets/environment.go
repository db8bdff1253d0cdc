package targets

import (
	"fmt"
	"net/url"
	"strings"
)

// The variables that tell a role where things are. Every instance has its own
// addresses: behind each is a proxy of its own.
const (
	EnvPostgresURL = "OUTBOXTEST_POSTGRES_URL"
	EnvBrokerURL   = "OUTBOXTEST_BROKER_URL"
	EnvTopic       = "OUTBOXTEST_TOPIC"
	EnvStream      = "OUTBOXTEST_STREAM"
	EnvInstance    = "OUTBOXTEST_INSTANCE"
	// EnvPort is the one that services look for, and bears no name of ours.
	EnvPort = "PORT"
)

// The names of the roles, as they key [Target.Go] and begin an instance's name.
const (
	RoleApp      = "app"
	RoleRelay    = "relay"
	RoleConsumer = "consumer"
)

// Environment is what every role finds in its environment, as NAME=value, in a
// fixed order. The port is there where the instance has one.
func Environment(a Addresses) []string {
	environment := []string{
		EnvPostgresURL + "=" + a.Postgres.URL,
		EnvBrokerURL + "=" + a.Broker.URL,
		EnvTopic + "=" + a.Topic,
		EnvStream + "=" + a.Stream,
		EnvInstance + "=" + a.Instance,
	}
	if a.Port != "" {
		environment = append(environment, EnvPort+"="+a.Port)
	}
	return environment
}

// FromEnvironment is the inverse of [Environment]: the addresses that a role
// finds in its own environment, with the parts of each URL. What is not set
// stays empty. getenv is os.Getenv.
func FromEnvironment(getenv func(string) string) (Addresses, error) {
	a := Addresses{
		Postgres: PostgresAddress{URL: getenv(EnvPostgresURL)},
		Broker:   BrokerAddress{URL: getenv(EnvBrokerURL)},
		Topic:    getenv(EnvTopic),
		Stream:   getenv(EnvStream),
		Instance: getenv(EnvInstance),
		Port:     getenv(EnvPort),
	}
	postgres, err := url.Parse(a.Postgres.URL)
	if err != nil {
		return Addresses{}, fmt.Errorf("%s is not a URL", EnvPostgresURL) // the cause would show the password
	}
	a.Postgres.Host, a.Postgres.Port = postgres.Hostname(), postgres.Port()
	a.Postgres.User = postgres.User.Username()
	a.Postgres.Password, _ = postgres.User.Password()
	a.Postgres.Database = strings.TrimPrefix(postgres.Path, "/")
	broker, err := url.Parse(a.Broker.URL)
	if err != nil {
		return Addresses{}, fmt.Errorf("%s is not a URL", EnvBrokerURL)
	}
	a.Broker.Addr, a.Broker.Host, a.Broker.Port = broker.Host, broker.Hostname(), broker.Port()
	a.Broker.User = broker.User.Username()
	a.Broker.Password, _ = broker.User.Password()
	return a, nil
}
