package trial

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"
)

// text is a column's value as the event's fields would spell it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case [16]byte: // uuid
		h := hex.EncodeToString(v[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case pgtype.Numeric:
		if n, err := v.Value(); err == nil {
			return fmt.Sprint(n)
		}
	}
	return fmt.Sprint(v)
}

// number reads a count in any of the types that a query may give it.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case int16:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case pgtype.Numeric:
		n, err := v.Int64Value()
		return n.Int64, err == nil && n.Valid
	}
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return n, err == nil
}
