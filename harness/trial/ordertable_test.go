package trial

import "testing"

func TestOrderTable(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT ref, id FROM orders": "orders",
		"select o.ref from shop.\"Orders\" o where o.state <> 'draft' order by o.id": "orders",
		"SELECT ref FROM orders WHERE NOT deleted LIMIT 10":                          "orders",
		"SELECT ref FROM orders UNION SELECT ref FROM archive":                       "",
		"SELECT o.ref FROM orders o JOIN lines l ON l.id = o.id":                     "",
		"SELECT ref FROM orders, lines":                                              "",
		"WITH a AS (SELECT ref FROM orders) SELECT ref FROM a":                       "",
		"SELECT ref FROM (SELECT ref FROM orders) o":                                 "",
		"SELECT extract(year FROM at), ref FROM orders":                              "",
		"SELECT ref FROM all_orders()":                                               "",
		"TABLE orders":                                                               "",
		"":                                                                           "",
	} {
		if got := orderTable(query); got != want {
			t.Errorf("%q reads %q, want %q", query, got, want)
		}
	}
}
