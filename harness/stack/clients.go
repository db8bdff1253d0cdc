package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Client is a connection to an own broker, as the server sees it.
type Client struct {
	// ID is the number that the server gave the client, in its INFO too.
	ID uint64
	// Name is what the client calls itself.
	Name string
	// Addr is the client's host:port.
	Addr string
	// Ours is set for the harness's own connections.
	Ours bool
	// Subscriptions is how many the client has.
	Subscriptions int
}

// connectionsPatience bounds the question when the context does not.
const connectionsPatience = 10 * time.Second

// connectionsPage is how many connections are asked for at once.
const connectionsPage = 1024

// Connections lists the clients of an own broker, all accounts together. The
// error is ErrUnknown for a server given by URL: its list is for its operators.
func (n *NATS) Connections(ctx context.Context) ([]Client, error) {
	if n.child == nil {
		return nil, fmt.Errorf("list the connections of the broker at %s: %w", n.Addr(), ErrUnknown)
	}
	_, _, system := n.links()
	ctx, cancel := context.WithTimeout(ctx, connectionsPatience)
	defer cancel()
	var all []Client
	for {
		request, err := json.Marshal(map[string]int{"offset": len(all), "limit": connectionsPage})
		if err != nil {
			return nil, fmt.Errorf("list the connections of the broker: %w", err)
		}
		// The monitoring service of the system account; the answer is that of
		// the endpoint /connz.
		reply, err := system.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.CONNZ", request)
		if err != nil {
			return nil, fmt.Errorf("list the connections of the broker: %w", err)
		}
		page, total, err := parseConnections(reply.Data)
		if err != nil {
			return nil, fmt.Errorf("list the connections of the broker: %w", err)
		}
		all = append(all, page...)
		if len(page) == 0 || len(all) >= total {
			return all, nil
		}
	}
}

func parseConnections(data []byte) (page []Client, total int, err error) {
	var answer struct {
		Data struct {
			Total       int `json:"total"`
			Connections []struct {
				CID  uint64 `json:"cid"`
				IP   string `json:"ip"`
				Port int    `json:"port"`
				Name string `json:"name"`
				Subs int    `json:"subscriptions"`
			} `json:"connections"`
		} `json:"data"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, 0, fmt.Errorf("read the answer: %w", err)
	}
	if answer.Error != nil {
		return nil, 0, fmt.Errorf("the broker says: %s", answer.Error.Description)
	}
	for _, c := range answer.Data.Connections {
		page = append(page, Client{
			ID: c.CID, Name: c.Name, Addr: net.JoinHostPort(c.IP, strconv.Itoa(c.Port)),
			Ours: c.Name == applicationName, Subscriptions: c.Subs,
		})
	}
	return page, answer.Data.Total, nil
}
