package harness

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/outboxtest/outboxtest/harness/report"
)

// Shard is a part of the cells: the Index-th, from 1, of Of parts.
type Shard = report.Shard

// ParseShard reads I/N, as [Shard.String] writes it: a leading zero or a sign is
// refused, so that one shard has one name.
func ParseShard(text string) (Shard, error) {
	first, second, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	if !ok || err != nil || err2 != nil {
		return Shard{}, fmt.Errorf("%q is no shard: write I/N, such as 1/3 for the first of three", text)
	}
	s := Shard{Index: index, Of: of}
	if err := checkShard(s); err != nil {
		return s, err
	}
	if s.String() != text {
		return s, fmt.Errorf("%q is no shard: write it %s", text, s)
	}
	return s, nil
}

func checkShard(s Shard) error {
	if s.Of > report.MaxShards {
		return fmt.Errorf("%s is no shard: a run is split into at most %d", s, report.MaxShards)
	}
	if s.Of < 1 || s.Index < 1 || s.Index > s.Of {
		return fmt.Errorf("%s is no shard: of %d shards the first is 1/%d and the last %d/%d", s, max(1, s.Of), max(1, s.Of), max(1, s.Of), max(1, s.Of))
	}
	return nil
}
