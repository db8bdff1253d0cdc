package targets

// keyRefusals are more of [refusals], for the keys by which any service can be
// driven.
var keyRefusals = []refusal{
	{"a build of words", "committed:", "build: [go, build]\ncommitted:",
		`m.yaml:13:9: build: this is a list of words; write each command as a list of its words: [[go, build, ./...]]`},
	{"a build as a text", "committed:", "build: make\ncommitted:",
		`m.yaml:13:8: build: this is "make"; write each command as a list of its words: [[go, build, ./...]]`},
	{"a command without a program", "committed:", "build: [[], [''], {dir: web}, {run: [make], dir: web}]\ncommitted:",
		`m.yaml:13:14: build[1][0]: the command is empty; write the program first and then its arguments
m.yaml:13:19: build[2].run: it is missing; write the program and its arguments: [npm, ci]
m.yaml:13:25: build[2].dir: there is no folder web; paths start at the manifest's folder
m.yaml:13:50: build[3].dir: there is no folder web; paths start at the manifest's folder
m.yaml:13:9: build[0].run: it is missing; write the program and its arguments: [npm, ci]`},
	{"an address in a build", "committed:", "build: [[migrate, '{{.Postgres.URL}}'], {run: [x], env: {URL: '{{.Broker.URL}}', 'A=B': c}}]\ncommitted:",
		`m.yaml:13:19: build[0][1]: a build is run before anything has an address; leave the template out, or move the command to schema or to a role
m.yaml:13:63: build[1].env.URL: a build is run before anything has an address; leave the template out, or move the command to schema or to a role
m.yaml:13:89: build[1].env.A=B: "A=B" cannot be a variable's name`},
	{"a schema of one word", "[schema.sql]", "schema.sql",
		`m.yaml:2:9: schema: this is "schema.sql"; write a list of SQL files: [db/schema.sql], a migration command: {run: [./migrate, '{{.Postgres.URL}}']}, or "by app" if the app makes its tables when it starts`},
	{"an unknown key in the schema", "[schema.sql]", "{file: [schema.sql]}",
		`m.yaml:2:10: schema: unknown key "file"; did you mean "files"?`},
	{"a migration that knows no broker", "[schema.sql]", "{run: [migrate, '{{.Broker.URL}}'], dir: db, env: {A: '{{.Topic}}'}}",
		`m.yaml:2:25: schema.run[1]: expand the template "{{.Broker.URL}}": can't evaluate field Broker; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database
m.yaml:2:50: schema.dir: there is no folder db; paths start at the manifest's folder
m.yaml:2:63: schema.env.A: expand the template "{{.Topic}}": can't evaluate field Topic; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database`},
	{"a migration's folder without a migration", "[schema.sql]", "{files: [schema.sql, none.sql], dir: .}",
		`m.yaml:2:30: schema.files[1]: there is no file none.sql; paths start at the manifest's folder
m.yaml:2:9: schema: dir and env are those of run, which is missing; write the migration command, or leave them out`},
	{"a schema by an app that does not tell when it is up", "[schema.sql]", "by app",
		`m.yaml:3:1: app.ready: it is missing, and "schema: by app" waits for it; write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`},
	{"a schema by an app that is not there", "schema: [schema.sql]\napp:\n  start: [./service, --port, 8080]\n  dir: .\n  env: {DATABASE_URL: '{{.Postgres.URL}}', RETRIES: 3}\n  stdio: true", "schema: by app\napp:\n  sql: [SELECT 1]",
		`m.yaml:2:9: schema: sql is run by the harness's own process, which makes no tables; write a list of SQL files or a migration command`},
	{"files outside of their folder", "replicas: 2}", "replicas: 2, files: {../a: x, /etc/b: x, c/../d: x, e: x, e/f: x, 'g\\h': x}}",
		`m.yaml:8:100: relay.files.g\h: "g\\h" is no path below the instance's own folder; write one such as config/application.properties, without "..", and name the folder as {{.Files}}
m.yaml:8:54: relay.files.../a: "../a" is no path below the instance's own folder; write one such as config/application.properties, without "..", and name the folder as {{.Files}}
m.yaml:8:65: relay.files./etc/b: "/etc/b" is no path below the instance's own folder; write one such as config/application.properties, without "..", and name the folder as {{.Files}}
m.yaml:8:76: relay.files.c/../d: "c/../d" is no path below the instance's own folder; write one such as config/application.properties, without "..", and name the folder as {{.Files}}
m.yaml:8:82: relay.files.e: e/f lies below it, so that it cannot be a file`},
	{"a template in a file", "replicas: 2}", "replicas: 2, files: {a: '{{.Order}}'}}",
		`m.yaml:8:51: relay.files.a: expand the template "{{.Order}}": can't evaluate field Order; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port, .Files`},
	{"a folder of files that are not there", "start: [./relay]", "start: [./relay, '{{.Files}}']",
		`m.yaml:8:26: relay.start[1]: expand the template "{{.Files}}": can't evaluate field Files; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port`},
	{"ready by a word", "replicas: 2}", "replicas: 2, ready: up}",
		`m.yaml:8:47: relay.ready: this is "up"; write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`},
	{"ready by another method", "replicas: 2}", "replicas: 2, ready: POST /healthz}",
		`m.yaml:8:47: relay.ready: this is "POST /healthz"; write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`},
	{"ready by a path with a blank", "replicas: 2}", "replicas: 2, ready: GET /a b}",
		`m.yaml:8:47: relay.ready: this is "GET /a b"; write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`},
	{"ready by nothing", "replicas: 2}", "replicas: 2, ready: {}}",
		`m.yaml:8:47: relay.ready: nothing is written here; write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`},
	{"ready by a bad expression", "replicas: 2}", "replicas: 2, ready: {log: '(up'}, ready-within: -1}",
		`m.yaml:8:53: relay.ready.log: missing closing ) in the expression at "(up"; the language is that of https://pkg.go.dev/regexp/syntax
m.yaml:8:75: relay.ready-within: -1 is out of range; write more than 0 and at most 600 seconds`},
	{"three drivers", "stdio: true", "stdio: true\n  sql: [SELECT 1]\n  place: {http: POST /orders}",
		`m.yaml:3:1: app: stdio and place and sql are set; keep one of them: stdio if the app's own process takes orders on its standard input, place if it takes them by HTTP, sql if the harness is to write them`},
	{"sql with files", "  stdio: true", "  sql: [SELECT 1]\n  files: {a: b}\n  ready: port",
		`m.yaml:3:1: app: sql is run by the harness's own process; leave out files, ready and ready-within
m.yaml:3:1: app: sql is run by the harness's own process; leave out start, dir and env`},
	{"a request of one word", "stdio: true", "place: POST /orders",
		`m.yaml:7:10: app.place: this is "POST /orders"; write a request: {http: POST /orders, body: '{"ref": "{{.Order}}"}'}`},
	{"requests of words", "stdio: true", "place: [POST /orders]",
		`m.yaml:7:11: app.place: this is a list of words; write a request: {http: POST /orders, body: '{"ref": "{{.Order}}"}'}`},
	{"a request without its line", "stdio: true", "place: {body: '{{.Order}}'}",
		`m.yaml:7:10: app.place.http: it is missing; write the method and the path: POST /orders`},
	{"a method that is not there", "stdio: true", "place: {http: PSOT /orders, body: '{{.Order}}'}",
		`m.yaml:7:17: app.place.http: there is no method "PSOT"; did you mean "POST"?`},
	{"a method in small letters", "stdio: true", "place: {http: post /orders, body: '{{.Order}}'}",
		`m.yaml:7:17: app.place.http: there is no method "post"; did you mean "POST"?`},
	{"no method", "stdio: true", "place: {http: /orders, body: '{{.Order}}'}",
		`m.yaml:7:17: app.place.http: "/orders" has no method; write the method and the path: POST /orders`},
	{"no path", "stdio: true", "place: {http: POST, body: '{{.Order}}'}",
		`m.yaml:7:17: app.place.http: "POST" is no request; write the method and the path: POST /orders`},
	{"a host", "stdio: true", "place: {http: 'POST http://localhost:8080/orders', body: '{{.Order}}'}",
		`m.yaml:7:17: app.place.http: the harness knows where the app listens; leave out the host: POST /orders`},
	{"a path with a blank", "stdio: true", "place: [{http: 'POST /{{ .Order }}/a b'}]",
		`m.yaml:7:18: app.place[0].http: "/{{ .Order }}/a b" is no path; begin it with "/", and write %20 for a blank`},
	{"a path without its slash", "stdio: true", "place: [{http: 'POST orders', body: '{{.Order}}'}]",
		`m.yaml:7:18: app.place[0].http: "orders" is no path; begin it with "/", and write %20 for a blank`},
	{"an order that nobody is told", "stdio: true", "place: {http: POST /orders, body: '{}'}",
		`m.yaml:7:10: app.place: no request tells the service which order it is; put {{.Order}}, or {{.UUID}} if it wants a UUID, into a field that the row keeps`},
	{"a bad header", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}', headers: {'X Y': a, Z: \"a\\nb\", Q: '{{.Files}}'}}",
		`m.yaml:7:68: app.place.headers.X Y: "X Y" cannot be a header's name
m.yaml:7:74: app.place.headers.Z: a header's value is one line; write it on one
m.yaml:7:85: app.place.headers.Q: expand the template "{{.Files}}": can't evaluate field Files; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port, .Order, .Customer, .UUID, .CustomerUUID`},
	{"a bad status", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}', accepted: [201, 20]}",
		`m.yaml:7:67: app.place.accepted[1]: 20 is the status of no answer; write 200 to 599`},
	{"bad rules for what is saved", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}', save: {a-b: body, c: key, d: '$.token', e: ''}}",
		`m.yaml:7:63: app.place.save.a-b: "a-b" cannot be named in a template; use letters, digits and underscores
m.yaml:7:72: app.place.save.c: an answer has no key; write header:NAME or body:$.path
m.yaml:7:80: app.place.save.d: "$.token" is no field rule; write header:NAME, body:$.path, body (the whole body), key, subject or topic; or one of them, " ~ " and a REGEXP with one group
m.yaml:7:94: app.place.save.e: it is missing; write where the answer has it, such as body:$.token`},
	{"what nobody saved", "stdio: true", "place: [{http: POST /a, save: {one: body}}, {http: POST /b, body: '{{.Order}}{{.Saved.two}}'}]",
		`m.yaml:7:69: app.place[1].body: expand the template "{{.Order}}{{.Saved.two}}": map has no entry for key "two"; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port, .Order, .Customer, .UUID, .CustomerUUID, .Saved.one`},
	{"a customer's request that needs an order's", "stdio: true", "place: [{http: POST /a, save: {one: body}}, {http: POST /b, once: customer, body: '{{.Saved.one}}'}, {http: POST /c, body: '{{.Order}}'}]",
		`m.yaml:7:85: app.place[1].body: expand the template "{{.Saved.one}}": map has no entry for key "one"; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port, .Order, .Customer, .UUID, .CustomerUUID`},
	{"an abort that needs an order's", "stdio: true", "place: [{http: POST /a, save: {one: body}}, {http: POST /c, body: '{{.Order}}'}]\n  abort: {http: POST /d, body: '{{.Order}}{{.Saved.one}}'}",
		`m.yaml:8:32: app.abort.body: expand the template "{{.Order}}{{.Saved.one}}": map has no entry for key "one"; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port, .Order, .Customer, .UUID, .CustomerUUID`},
	{"once for something else", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}', once: order}",
		`m.yaml:7:57: app.place.once: "order" is nothing to do a request once for; write customer if only the first order of each customer has it, or leave it out`},
	{"an order for customers only", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}', once: customer}",
		`m.yaml:7:57: app.place.once: the last request places the order, and every order has one; put this request before it`},
	{"once in an abort", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}'}\n  abort: [{http: POST /login, once: customer}, {http: POST /orders, body: '{{.Order}}'}]",
		`m.yaml:8:37: app.abort[0].once: the requests for a customer's first order are those of place, and come before an abort too; leave it out`},
	{"an abort by a word", "stdio: true", "stdio: true\n  abort: POST /orders",
		`m.yaml:8:10: app.abort: this is "POST /orders"; write true if the app has stdio, or the request that makes it roll back: {http: POST /orders, body: '...'}`},
	{"an abort by HTTP of an app that has none", "stdio: true", "stdio: true\n  abort: {http: POST /orders}",
		`m.yaml:8:10: app.abort: the app takes orders on its standard input, not by HTTP; write true if it can roll one back`},
	{"an abort without its request", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}'}\n  abort: true",
		`m.yaml:8:10: app.abort: an app by HTTP needs the request that makes it roll back: {http: POST /orders, body: '...'}; leave it out if there is none`},
	{"each that finds no array", "event: {", "event: {each: 'header:Events', ",
		`m.yaml:14:15: event.each: "header:Events" finds no array; write body:$.path, or body:$ if the whole body is one`},
	{"a pattern with two groups", "'body:$.order'", "'subject ~ (a)(b)'",
		`m.yaml:14:16: event.order: "subject ~ (a)(b)" has 2 groups; put parentheses around the one part to take, as in orders\.(.+)\.placed, and write (?:...) for others`},
	{"a pattern without a group", "'body:$.order'", "'subject ~ a'",
		`m.yaml:14:16: event.order: "subject ~ a" has 0 groups; put parentheses around the one part to take, as in orders\.(.+)\.placed, and write (?:...) for others`},
	{"a pattern that is none", "'body:$.order'", "'subject ~ ('",
		`m.yaml:14:16: event.order: "subject ~ (": missing closing ) in the expression at "("; the language is that of https://pkg.go.dev/regexp/syntax`},
	{"a bad second condition", "event: {", "event: {when: 'body:$.a == b and body:$.c = d', ",
		`m.yaml:14:15: event.when: "body:$.c = d" is no condition; write RULE == VALUE or RULE != VALUE, such as body:$.type == OrderPlaced, and " and " between several`},
	{"an ordering that is not there", "committed:", "limits: {ordering: some, exits-on-error: sometimes}\ncommitted:",
		`m.yaml:13:20: limits.ordering: there is no ordering "some"; write none if events may come in any order, or leave it out
m.yaml:13:42: limits.exits-on-error: this is "sometimes"; write true or false`},
	{"keys in another spelling", "replicas: 2}", "replicas: 2, ready_within: 3, Ready: port}",
		`m.yaml:8:40: relay: unknown key "ready_within"; did you mean "ready-within"?
m.yaml:8:57: relay: unknown key "Ready"; did you mean "ready"?`},
}
