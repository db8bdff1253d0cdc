package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

// What an own broker may hold, in bytes: more than any run puts into it.
const (
	natsMaxMemory = 1 << 30
	natsMaxStore  = 64 << 30
)

// natsConfig is what the stack tells its broker's process, as one line on
// standard input: credentials do not belong on a command line.
type natsConfig struct {
	Store          string `json:"store"`
	Port           int    `json:"port"` // 0 for any
	User           string `json:"user"`
	Password       string `json:"password"`
	SystemUser     string `json:"system_user"`
	SystemPassword string `json:"system_password"`
}

// natsReady is what the process answers, as one line on standard output, once
// it listens.
type natsReady struct {
	Port    int    `json:"port"`
	Version string `json:"version"`
	Error   string `json:"error,omitempty"`
}

// NATSMain is the main function of the process that [Options.Role] starts: a NATS
// server with JetStream on file storage, until the context ends or standard
// input does.
func NATSMain(ctx context.Context) error {
	return serveNATS(ctx, os.Stdin, os.Stdout)
}

func serveNATS(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the broker's configuration: %w", err)
	}
	var config natsConfig
	if err := json.Unmarshal(line, &config); err != nil {
		return errors.New("read the broker's configuration: it is not the line that the stack writes")
	}
	s, err := startNATS(config)
	if err != nil {
		return errors.Join(err, json.NewEncoder(out).Encode(natsReady{Error: err.Error()}))
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	ready := natsReady{Port: s.Addr().(*net.TCPAddr).Port, Version: server.VERSION}
	if err := json.NewEncoder(out).Encode(ready); err != nil {
		return fmt.Errorf("say that the broker is ready: %w", err)
	}
	ended := make(chan struct{})
	// It ends with its pipe, at the latest with the process.
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// natsAccounts is a configuration with two accounts, of which JSON is a form. The
// clients' is not the global one: with that and the system account alone the
// server lets in who gives no password.
func natsAccounts(c natsConfig) (string, error) {
	type login struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	text, err := json.Marshal(map[string]any{
		"accounts": map[string]any{
			"outboxtest": map[string]any{"jetstream": "enabled", "users": []login{{c.User, c.Password}}},
			"system":     map[string]any{"users": []login{{c.SystemUser, c.SystemPassword}}},
		},
		"system_account": "system",
	})
	if err != nil {
		return "", fmt.Errorf("write the broker's accounts: %w", err)
	}
	return string(text), nil
}

// startNATS starts a server and waits until it listens. Its durability is that
// of a default server.
func startNATS(c natsConfig) (*server.Server, error) {
	accounts, err := natsAccounts(c)
	if err != nil {
		return nil, err
	}
	options := &server.Options{}
	if err := options.ProcessConfigString(accounts); err != nil {
		// Not the error: it may quote the text.
		return nil, errors.New("make the broker: it refuses its accounts")
	}
	options.ServerName, options.Host, options.Port = applicationName, "127.0.0.1", c.Port
	if c.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	options.NoSigs = true // the process is ended by the stack and by nothing else
	options.JetStream, options.StoreDir = true, c.Store
	options.JetStreamMaxMemory, options.JetStreamMaxStore = natsMaxMemory, natsMaxStore
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("make the broker: %w", err)
	}
	s.ConfigureLogger()
	go s.Start() // returns at once; Shutdown ends what it started
	if !s.ReadyForConnections(startPatience) {
		s.Shutdown()
		return nil, fmt.Errorf("the broker does not listen on port %d within %v: is it taken?", c.Port, startPatience)
	}
	return s, nil
}
