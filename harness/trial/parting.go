package trial

import (
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/faults"
)

// partingTime bounds the wait for the connections of dead processes to be closed.
// The kernel closes them as a process ends, and a proxy sees it at once.
const partingTime = 10 * time.Second

// foreground is the mend for a role that leaves a process behind.
const foreground = "start it in the foreground: it must not daemonize, nor hand its work to a process that a kill of its group does not end"

// parting waits until the connections of instances are closed whose processes are
// dead. Who holds one after that was left behind by them, out of the reach of a
// kill, so that no fault would mean what it says: the error is a [*TargetError].
func (t *trial) parting(list []*instance) error {
	timer := time.NewTimer(partingTime)
	defer timer.Stop()
	for _, in := range list {
		for _, server := range []faults.Server{faults.Postgres, faults.Broker} {
			link := faults.Link{Instance: in.id, Server: server}
			for {
				change := t.board.Changed()
				if s := t.board.State(link); s.Readable+s.Opaque == 0 {
					break
				}
				select {
				case <-change:
				case <-timer.C:
					return &TargetError{Stage: StageExit, Instance: in.id.String(), Log: in.tail(), Mend: foreground,
						What: fmt.Sprintf("left a process behind that holds its connections: those to %s were still open %v after it was dead", serverName(server), partingTime)}
				case <-t.ctx.Done():
					return t.ctx.Err()
				}
			}
		}
	}
	return nil
}

func serverName(s faults.Server) string {
	if s == faults.Postgres {
		return "PostgreSQL"
	}
	return "the broker"
}
