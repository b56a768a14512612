// Each promise of SECURITY.md is held by a test that would fail if the promise were broken. The table names the tests: a new sentence needs a
// line here, and a test that is renamed or removed takes its promise with it.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Some words that only one promise contains, and the tests that hold it: `file: title`, the title with `…` for each placeholder. */
const HELD: Readonly<Record<string, readonly string[]>> = {
  // What counts as a vulnerability
  'smuggling, splitting': [
    'packages/weirjs/test/conformance/conformance.test.ts: …: … (…, …)',
    'packages/weirjs/test/properties/node-parser.test.ts: what both accept is read alike, and what one refuses the other refuses, except for the listed differences',
    'packages/weirjs/test/properties/policies.test.ts: no path, host or absolute form reaches a handler past the policies of its route',
  ],
  'ends the process': [
    'packages/weirjs/test/hostile.test.ts: … is refused with …, and others are served',
    'packages/weirjs/test/hostile.test.ts: a client that … … leaves nothing behind, and others are served',
    'packages/weirjs/test/slow-clients.test.ts: slow headers: every connection is ended by headersTimeout',
    'packages/weirjs/test/slow-clients.test.ts: slow bodies: every connection is ended by minBodyRate',
    'packages/weirjs/test/slow-clients.test.ts: slow reading: every stream is aborted by writeTimeout',
    'packages/weirjs/test/server/turns.test.ts: …: all are answered, and few in one turn',
    'packages/weirjs/test/properties/regular-expressions.test.ts: no regular expression of the source grows faster than its input',
    'packages/weirjs/test/properties/wire.test.ts: memory that is held between two receives is bounded by the limits and one piece',
  ],
  'Data of one request that appears in another': [
    'packages/weirjs/test/wire.test.ts: a head may be kept: it is the same after the next request was read',
    'packages/weirjs/test/server/shared-tls-read.test.ts: many uploads at the same time, over both protocols, are not mixed up: …',
    'packages/weirjs/test/modules/cache/handed-over.test.ts: what tells clients apart is never sent to another one if it is looked at …, with the key …',
    'packages/weirjs/test/server/contexts.test.ts: …: of the requests on one connection, none finds what another has entered',
    'packages/weirjs/test/server/contexts.test.ts: …: nor over HTTP/2',
  ],
  '`saveTo` writes outside': [
    'packages/weirjs/test/body/saving.test.ts: hostile names stay in their directory',
    'packages/weirjs/test/body/saving.test.ts: a symbolic link in the way is neither followed nor replaced',
  ],
  'a client can inject': ['packages/weirjs/test/server/response.test.ts: CR, LF and NUL are refused in: …'],
  'through a prototype': [
    'packages/weirjs/test/routing/bindings.test.ts: arguments have no prototype, and names like constructor are names like any other',
    'packages/weirjs/test/body/mapping-arrays.test.ts: __proto__ in an element, or in the output of a schema, does not reach a prototype',
    'packages/weirjs/test/server/own-objects.test.ts: a collection is a record',
  ],

  // What is on by default
  'listens on 127.0.0.1 only': ['test/security-defaults.test.ts: without an address, no other one is listened on'],
  'under a name of its own': [
    'packages/weirjs/test/server/hosts.test.ts: a loopback endpoint answers the names of this machine alone',
    'packages/weirjs/test/server/hosts.test.ts: no WebSocket opens under a foreign name',
    'packages/weirjs/test/server/hosts.test.ts: the same over HTTP/2, with http2: …',
    'packages/weirjs/test/server/rebinding.test.ts: a page whose name leads to this machine reads nothing, sends nothing and opens no WebSocket',
    'packages/weirjs/test/server/rebinding.test.ts: nor does it where proxies on this machine are trusted, although it sends their fields',
  ],
  'for which only your program can know': [
    'test/security-defaults.test.ts: every limit and timeout is set, except for the three that SECURITY.md names',
  ],
  'no option loosens it': [
    'packages/weirjs/test/conformance/conformance.test.ts: …: … (…, …)',
    'test/security-defaults.test.ts: with …, what is malformed is refused as without',
  ],
  'Error responses reveal nothing': [
    'packages/weirjs/test/server/response.test.ts: problem document: … …',
    'packages/weirjs/test/explain/debug.test.ts: not a byte is different, whatever the client prefers',
  ],
  'names the server': ['test/security-defaults.test.ts: no field of a response names the server: …'],

  // Modules
  'Wrong passwords from one network': [
    'packages/weirjs/test/modules/auth/basic-flood.test.ts: while 200 wrong logins of one network wait, those of another network are served',
    'packages/weirjs/test/modules/auth/passwords.test.ts: clients take turns, and a flood of one network refuses only its own calls',
  ],
  'is reached without valid credentials': [
    'packages/weirjs/test/properties/closed.test.ts: 401 for everything, and no handler runs',
    'packages/weirjs/test/modules/auth/refusals.test.ts: refuses before the body, whatever the transport: …',
    'packages/weirjs/test/modules/auth/refusals.test.ts: answers a request whose body never comes, without 100 Continue',
    'packages/weirjs/test/properties/policies.test.ts: no path, host or absolute form reaches a handler past the policies of its route',
  ],
  'The exceptions are routes that say': [
    "packages/weirjs/test/modules/auth/requirements.test.ts: anonymous: 'allowed' opens routes that require nothing, and no others",
    "packages/weirjs/test/modules/auth/requirements.test.ts: unrouted: 'allowed' opens files and 404, and no route",
    'packages/weirjs/test/modules/auth/requirements.test.ts: auth.open needs no auth',
  ],
  'Combining requirements never opens': [
    'packages/weirjs/test/modules/auth/requirements.test.ts: each requirement',
    'packages/weirjs/test/modules/auth/requirements.test.ts: …: start rejects, and requests are refused without it',
  ],
  'compared in constant time': [
    'test/security-defaults.test.ts: passwords and keys are compared by timingSafeEqual, and by nothing else',
    'packages/weirjs/test/modules/auth/unknown-names.test.ts: a table of basic: a name that nobody has is one hash with the cost of the first user, as is a wrong password',
    'packages/weirjs/test/modules/auth/passwords.test.ts: over plain HTTP: refused with 403, never asked for, unless that is allowed',
    'packages/weirjs/test/modules/auth/passwords.test.ts: over plain HTTP: refused, unless that is allowed',
    'packages/weirjs/test/modules/secrets.test.ts: nothing that is secret is logged or answered, with sessions …, … debug',
  ],
  'a token is accepted only if': [
    'packages/jwt/test/attacks.test.ts: each attack is refused',
    'packages/jwt/test/tokens.test.ts: never serves a token past exp',
  ],
  'Nothing in a token chooses': [
    'packages/jwt/test/attacks.test.ts: each attack is refused',
    'packages/jwt/test/keys.test.ts: keys that cannot verify: symmetric, private, for another use or algorithm',
  ],
  'However many tokens are forged': [
    'packages/jwt/test/keys.test.ts: an unknown kid causes one request to the issuer, and then none for 30 s',
  ],
  'While the issuer fails': [
    'packages/jwt/test/keys.test.ts: while there are no keys, tokens cause one request in 5 s',
    'packages/jwt/test/keys.test.ts: before there are any keys, requests get 503',
  ],
  'no page of an origin': [
    'packages/weirjs/test/modules/csrf.test.ts: every combination of five sites, four origins and seven methods is refused or passes as documented',
    'packages/weirjs/test/modules/csrf.test.ts: QUERY is safe; methods with another case, and unknown ones, are not',
    'packages/weirjs/test/modules/csrf.test.ts: forms and fetches of the own page pass, and those of other pages are refused',
  ],
  'the browser states this in Sec-Fetch-Site': [
    'packages/weirjs/test/modules/compression.test.ts: a page of another site learns nothing from the length of a response to a request with …',
  ],
  'No dictionary for pages': [
    'packages/weirjs/test/modules/compression-dictionaries.test.ts: a dictionary has nothing that one sample alone has, whatever clients send',
  ],
  'whatever it would expand to': [
    'packages/weirjs/test/modules/decompression.test.ts: are refused … in little memory, after a part of the received bytes (…)',
    'packages/weirjs/test/modules/decompression.test.ts: six hundred wide windows at the same time take no more memory than a few',
    'packages/weirjs/test/modules/decompression.test.ts: a body that is cut short, is not valid, or has bytes after its end is refused with 400',
  ],
  'code that `mountNode` runs': [
    'packages/weirjs/test/modules/mount-gates.test.ts: …: no form of a path gets around the gate of a group',
    'packages/weirjs/test/modules/mount-node.test.ts: gates, middleware and hooks apply to it',
    'packages/weirjs/test/modules/mount-node.test.ts: fields of the connection are the server’s, except Connection: close',
    'packages/weirjs/test/modules/mount-node.test.ts: a declared length that is wrong: corrected in one piece, aborted in a stream',
  ],
  'could read a path as the path of another route': [
    'packages/weirjs/test/modules/mount-gates.test.ts: …: no form of a path gets around the gate of a group',
    'packages/weirjs/test/modules/mount-gates.test.ts: …: nor around that of a single route',
  ],
  'with lower-case letters, which it could take': [
    'packages/weirjs/test/modules/mount-gates.test.ts: …: nor a method that code could take for one with a route',
    'packages/weirjs/test/modules/node-listener.test.ts: node:http2: a method in lower case does not reach the code after the server',
  ],
  'no other route answers the path there': [
    'packages/weirjs/test/modules/mount-gates.test.ts: …: nor around that of the host that a proxy states',
  ],
  'that a function of `mountFetch` sees': ['packages/weirjs/test/modules/mount-fetch-request.test.ts: has no two readings of a path'],
  'reaches no handler through `toNodeListener`': [
    'packages/weirjs/test/modules/node-listener.test.ts: what Node accepts and weir refuses is refused, and closes the connection',
  ],
  'one line of printable ASCII': [
    'packages/weirjs/test/modules/log/forging.test.ts: every exchange is one line of visible ASCII: …',
    'packages/weirjs/test/modules/log/lines.test.ts: credentials, chosen parameters of queries and secret parameters are hidden',
    'packages/weirjs/test/modules/secrets-in-odd-requests.test.ts: no form of a request leaves its secret in a recording, the inspector, the access log or the logger, …',
  ],
  'A slow stream holds at most': [
    'packages/weirjs/test/modules/log/stream.test.ts: a slow stream gets larger pieces, and lines beyond the limit are dropped, counted and reported',
  ],
  'more than its quota and burst': [
    'packages/weirjs/test/properties/rate-limits.test.ts: in no time are more than burst + quota × t / window taken',
    'packages/redis/test/stores/redis-store.test.ts: two processes share one quota exactly',
    'packages/weirjs/test/modules/limits/rate-limit.test.ts: guesses at the same time do not exceed the quota',
  ],
  'within a /64 network': [
    'packages/weirjs/test/modules/limits/rate-limit.test.ts: addresses have separate quotas; those of one IPv6 network share one, and an IPv4-mapped one is IPv4',
    'packages/weirjs/src/modules/limits/memory-store.test.ts: keeps at most maxKeys keys, whatever clients send, and hardly a newcomer is refused for a flood',
  ],
  'uses more memory than the bound': [
    'packages/weirjs/src/modules/limits/memory-store.test.ts: keeps at most maxKeys keys, whatever clients send, and hardly a newcomer is refused for a flood',
  ],
  'a flood from that many keys': ['packages/weirjs/src/modules/limits/memory-store.test.ts: nor by using up the quotas of others'],
  '`local` means that each process': ['packages/redis/test/stores/redis-store.test.ts: local: each process counts for itself'],
  'What Redis last said': [
    'packages/weirjs/src/modules/limits/local-limit.test.ts: allows what the store has said that is left, and a whole quota of an unknown key',
  ],
  'or, with `processes`, its part of a quota': [
    'packages/weirjs/src/modules/limits/local-limit.test.ts: the parts of all processes are together not more than what is left, at the start and later',
  ],
  'once all `maxKeys` are in use': [
    'packages/weirjs/src/modules/limits/memory-store.test.ts: a client cannot reset a quota that it has used up with other keys',
  ],
  'delays at most five requests': [
    'packages/redis/test/stores/redis-store.test.ts: a silent Redis (SIGSTOP): each of the first five requests waits for the timeout, and no other one',
    'packages/redis/test/stores/redis-store.test.ts: local: each process counts for itself',
  ],
  'too busy to read the replies': [
    'packages/redis/test/client/access.test.ts: a process that is always busy waits for the fourth timer',
    'packages/redis/test/stores/redis-store.test.ts: a slow Redis: what takes longer than the timeout is decided without it',
  ],
  'RFC 9111 forbids': ['packages/weirjs/test/properties/cache-rules.test.ts: nothing is sent that RFC 9111 forbids'],
  'reaches no other client': [
    'packages/weirjs/test/modules/cache/handed-over.test.ts: what tells clients apart is never sent to another one if it is looked at …, with the key …',
    'packages/weirjs/test/modules/cache/handed-over.test.ts: a nonce is not kept, also if a session was read before it',
    'packages/weirjs/test/modules/cache/cache.test.ts: Vary: *, Set-Cookie, trailers and cookies that were read are not kept',
  ],
  'are part of the key': [
    'packages/weirjs/test/modules/cache/cache.test.ts: Vary, the option vary and declared header parameters select the variant',
    'packages/weirjs/test/modules/cache/cache.test.ts: method, host, path and query are the key; X-Forwarded-Host is not',
  ],
  'no more memory than `maxSize`': [
    'packages/weirjs/test/modules/cache/setup.test.ts: no more than maxSize is kept, and those that were used last stay',
    'packages/weirjs/test/modules/kept-texts.test.ts: keeps no heads: …',
  ],
  'does not complete twice': [
    'packages/redis/test/stores/redis-idempotency.test.ts: 100 equal requests to two processes run the handler once, and get its response',
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: 409 while the first request is in progress; then its response',
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: a response that is too large, or streamed slowly, is not kept, and the request is not made again',
  ],
  'never leads to a response for another principal': [
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: keys are those of one principal, and of one origin',
  ],
  'can fill the store for others': [
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: a client that fills the memory does not fill it for other networks, nor for principals',
  ],
  'leave half of it to principals': [
    'packages/weirjs/src/modules/idempotency/shares.test.ts: however many networks take all that they may, principals have half of the store',
  ],
  'If it is not known whether a request had its effect': [
    'packages/redis/test/stores/redis-idempotency.test.ts: 100 equal requests to two processes, one of which is killed: the handler runs once, and the clients are told',
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: a handler that stops because its client has left leaves an unknown outcome',
  ],
  'a request with a key is refused': [
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: a store that fails refuses requests with a key, before the handler runs',
    'packages/redis/test/stores/redis-idempotency.test.ts: without Redis, requests with a key are refused',
  ],
  'results of checks are shown': [
    'packages/weirjs/test/modules/health.test.ts: names and reasons are for those that detail accepts',
    'packages/weirjs/test/modules/health.test.ts: a check that throws, rejects or returns false fails its route only, and the public sees no name',
    'packages/weirjs/test/modules/health.test.ts: checks run at most once a second and never twice at a time, however many ask',
  ],
  'nor change a sealed session': [
    'packages/weirjs/test/modules/sessions/attacks.test.ts: a truncated, extended or changed cookie, at each of its characters',
    'packages/weirjs/test/modules/sessions/attacks.test.ts: the cookie of one name under another, and of one server at another',
    'packages/weirjs/test/modules/sessions/attacks.test.ts: an older sealed cookie of the same session cannot be renewed past the absolute time',
    'packages/weirjs/src/modules/sessions/xaes.test.ts: opens what it has sealed, and nothing that was changed',
  ],
  'from before a sign-in': [
    'packages/weirjs/test/modules/sessions/attacks.test.ts: fixation: the cookie from before a sign-in is not the one after it',
    'packages/weirjs/test/modules/sessions/attacks.test.ts: an id or a value that the client has invented is never adopted',
    'packages/weirjs/test/modules/sessions/attacks.test.ts: a cookie that is replayed after signing out is as none, in a store',
    'packages/weirjs/test/modules/sessions/concurrency.test.ts: a request that is still running does not bring a session back that has been signed out',
  ],
  'a request with a session is refused': [
    'packages/weirjs/test/modules/sessions/sessions.test.ts: without the store, a request with a session gets 503, and one without it gets its response',
    'packages/redis/test/stores/redis-sessions.test.ts: a Redis that is silent or gone is a 503 for requests with a session, and nothing for others',
  ],
  'contains keys, ids, cookies or data': [
    'packages/weirjs/test/modules/secrets.test.ts: nothing that is secret is logged or answered, with sessions …, … debug',
    'packages/weirjs/test/modules/sessions/attacks.test.ts: cookie bombs cost a comparison, and are logged by nobody',
    'packages/weirjs/src/modules/sessions/key-ring.test.ts: keys are 32 bytes in one of their forms, and random; errors do not contain them',
  ],
  'no session is valid after signing out': [
    'packages/weirjs/test/modules/sessions/attacks.test.ts: a cookie that is replayed after signing out is as none, in a store',
  ],
  'its event streams and WebSockets in the same process end': [
    'packages/weirjs/test/modules/sessions/live-connections.test.ts: signing out ends the streams and sockets of the session, and no others, over …',
    'packages/weirjs/test/modules/sessions/live-connections.test.ts: a stream that a signed-out request opens late ends at once',
  ],
  'even if the response to an earlier request': [
    'packages/weirjs/test/modules/sessions/signed-out.test.ts: the response to …, which arrives after a sign-out, does not sign the browser in again',
    'packages/weirjs/test/modules/sessions/signed-out.test.ts: the response to …, which arrives after another principal has signed in, does not bring the first one back',
  ],
  'has to end for every copy': [
    'packages/weirjs/test/modules/sessions/sessions.test.ts: sessions that began before notBefore are not accepted',
  ],
  'A single sealed session cannot be revoked': [
    'packages/weirjs/test/modules/sessions/attacks.test.ts: a sealed cookie that is replayed after signing out works until it expires, or notBefore ends it',
  ],
  'signs in only the browser': [
    'packages/oidc/test/login.test.ts: a login that another browser has begun',
    'packages/oidc/test/login.test.ts: a wrong, missing or repeated state',
    'packages/oidc/test/login.test.ts: a wrong nonce in the ID token',
    'packages/oidc/test/login.test.ts: a code that another login has got, because its PKCE verifier differs',
    'packages/oidc/test/login.test.ts: a wrong or missing issuer',
    'packages/oidc/test/login.test.ts: the same response twice',
    'packages/oidc/test/login.test.ts: a response of one provider at the callback of another (mix-up)',
  ],
  'no network whose clients have no principal': [
    'packages/weirjs/test/modules/idempotency/idempotency.test.ts: a client that fills the memory does not fill it for other networks, nor for principals',
    'packages/weirjs/src/modules/idempotency/shares.test.ts: however many networks take all that they may, principals have half of the store',
  ],
  'if a session has to end': [
    'packages/weirjs/test/modules/sessions/attacks.test.ts: a sealed cookie that is replayed after signing out works until it expires, or notBefore ends it',
  ],
  'once in each process': [
    'packages/oidc/test/login.test.ts: the same response twice, although the provider takes its code again: sessions …',
  ],
  'state the address to which the provider returns': ['packages/oidc/test/login.test.ts: …, with …'],
  "on the browser's own machine": ['packages/oidc/test/login.test.ts: …, with …'],
  'The signature of an ID token': ['packages/oidc/test/login.test.ts: an ID token whose signature has …'],
  'No login leads to another site': [
    'packages/oidc/test/login.test.ts: a long path is not returned to, and an address of another site never',
    'packages/weirjs/src/modules/sessions/return-path.test.ts: anything that could lead to another site does not',
  ],
  'Tokens do not leave the server': [
    'packages/oidc/test/tokens.test.ts: tokens are kept with the session, and neither the client nor the log sees them',
  ],
  'no client can create a series': [
    'packages/weirjs/test/modules/metrics/metrics.test.ts: a client cannot create series: neither by methods nor by paths, codes or fields',
    'packages/weirjs/test/modules/metrics/metrics.test.ts: there are at most maxSeries, and what has none of its own is counted together',
  ],
  'choose the trace of a span': [
    'packages/opentelemetry/test/opentelemetry.test.ts: a trace is continued for trusted peers only; otherwise there is a link, and no baggage',
  ],
  'lead it to another path, host': [
    'packages/weirjs/test/properties/contracts.test.ts: what would lead to another path is refused before anything is sent',
    'packages/weirjs/test/properties/contracts.test.ts: a parameter arrives from the path, the query, a header field and a cookie',
  ],
  'serves nothing in production': ['packages/openapi/test/served.test.ts: is not served in production unless it is exposed'],
  'requests nothing from other origins': [
    'packages/openapi/test/served.test.ts: and its files have a strict policy, and nothing is inline',
    'test/e2e/openapi.test.ts: the page shows and tries operations of OpenAPI …',
  ],
  'without the token or the cookie of this start': [
    'packages/weirjs/test/modules/local/door.test.ts: … reaches nothing: no route, file, socket, event, mounted code, gate or middleware',
    'packages/weirjs/test/modules/local/door.test.ts: nor over HTTP/2, nor by inject and fetch',
    'packages/weirjs/test/modules/local/door.test.ts: the cookie is for this instance alone: HttpOnly, SameSite=Strict, gone with the browser, and no store keeps the response',
  ],
  'works in one browser, once': [
    'packages/weirjs/test/modules/local/door.test.ts: a launch URL works once, and a second time only in the browser that it has opened',
    'packages/weirjs/test/modules/local/door.test.ts: only a page of the server itself exchanges the token of a launch URL, which stays good for it',
    'packages/weirjs/src/modules/launch/launch-tickets.test.ts: each is good once, and for ten minutes',
  ],
  'no page of another site or program gets a response': [
    'packages/weirjs/test/modules/local/door.test.ts: with the cookie: every combination of site, origin and kind of request passes or is refused as documented',
    'packages/weirjs/test/modules/local/door.test.ts: the cookie under a name that is not of this machine opens nothing',
  ],
  'Other users of the machine': [
    'packages/weirjs/test/modules/local/instances.test.ts: another user of the machine can read neither the file nor the folder, and reaches nothing',
    'packages/weirjs/test/modules/local/instances.test.ts: refuses … in place of the file, and writes nothing there',
    'packages/weirjs/test/modules/local/instances.test.ts: refuses what another user owns',
  ],
  'On Linux, the cookie is of no use': [
    'packages/weirjs/test/modules/local/door.test.ts: the cookie in the hands of another user of the machine opens nothing, also if they close at once, or come from another address of it',
  ],
  'but they find no responses in': [
    'packages/weirjs/test/modules/local/door.test.ts: browsers keep no response, unless a handler says for how long',
    'test/e2e/local-attacks.test.ts: a program that has the port afterwards finds nothing in the cache of the browser',
  ],
  'takes the port of a crashed server': [
    'packages/weirjs/test/modules/local/instances.test.ts: another program on the port of a crashed instance is not taken for it, and gets no token',
  ],
  'answers only requests of peers on this machine': [
    'packages/dev/test/inspector.test.ts: refuses …, whatever it asks for, and with the token too',
    'packages/dev/test/inspector.test.ts: on an endpoint of its own, other machines may look, and nobody elsewhere; names must be allowed',
    'test/e2e/inspector-attacks.test.ts: a page of … can neither read nor clear anything',
  ],
  'It refuses requests that a proxy states': [
    'packages/dev/test/inspector.test.ts: refuses …, whatever it asks for, and with the token too',
    'packages/dev/test/inspector.test.ts: a client that a trusted proxy states to be elsewhere is refused',
  ],
  'No client chooses where': [
    'packages/dev/test/inspector-token.test.ts: no client chooses to which server a link leads',
    'packages/dev/test/inspector-token.test.ts: the link is told at each start, and each module has a token of its own',
  ],
  'needs the token of the link': [
    'packages/dev/test/inspector-token.test.ts: without the token, the page says where the link is, and everything else is refused',
    'packages/dev/test/inspector-token.test.ts: the token is exchanged for a cookie, which opens everything, and is valid for this server alone',
  ],
  'in no recording, access log or explanation': [
    'packages/dev/test/inspector-token.test.ts: neither token nor cookie is in a recording, the list, the access log or an explanation',
  ],
  'it keeps no value of a secret': [
    'packages/dev/test/inspector.test.ts: keeps no secret: fields, cookies, queries, declared ones, and what the response repeats',
  ],
  'unless it is forced': [
    'packages/dev/test/inspector.test.ts: refuses to work in production, unless it is forced',
    'packages/weirjs/test/modules/secrets-in-odd-requests.test.ts: no form of a request leaves its secret in a recording, the inspector, the access log or the logger, …',
  ],
  'writes no value of Authorization': [
    'packages/dev/test/replay.test.ts: no secret reaches the disk: fields, cookies, queries, paths, forms, JSON, chunks, parts, and their repetitions',
    'packages/weirjs/test/modules/secrets-in-odd-requests.test.ts: no form of a request leaves its secret in a recording, the inspector, the access log or the logger, …',
  ],
  'Of a head that was refused': ['packages/dev/test/replay.test.ts: malformed requests are masked too'],
  'A secret without a name is kept': [
    'packages/dev/test/replay.test.ts: no secret reaches the disk: fields, cookies, queries, paths, forms, JSON, chunks, parts, and their repetitions',
  ],
  'Only the user of the process can read': [
    'packages/dev/test/replay.test.ts: what was recorded is answered in the same way again; ids, dates and cookies may differ',
    'packages/dev/test/replay.test.ts: cuts and times are kept, and a timeout happens again without waiting for it',
  ],
  'every response to a request with a valid head': [
    'packages/weirjs/test/modules/headers.test.ts: errors and refusals have the fields too',
    'packages/weirjs/test/modules/headers.test.ts: streams and files have the fields, and upgrades do not (…)',
    'packages/weirjs/test/modules/headers.test.ts: the policy of a route replaces that of the server',
  ],
  'keys of certificates are kept only in the store': [
    'packages/acme/test/directory-store.test.ts: the directory has the mode 700, each file 600, whatever the umask; one that others can read is refused',
    'packages/acme/test/pebble.test.ts: http-01 for names, with every other nonce refused; the store serves the next start without the CA',
  ],
  'and so is an SQLite file': [
    'packages/acme/test/directory-store.test.ts: the directory has the mode 700, each file 600, whatever the umask; one that others can read is refused',
    'packages/acme/test/stores.test.ts: SQLite: keys go to no file that others can read',
  ],
  'contains a part of a key': ['packages/acme/test/acme.test.ts: no message, log, status or metric has a part of a key, whatever fails'],
  'for the names and the key of its order': [
    'packages/acme/test/acme.test.ts: a certificate for other names, or for another key, is not used',
  ],
  'Paths and handshakes for challenges': [
    'packages/acme/test/acme.test.ts: only the challenges of an order are answered: other requests for such paths are like any request',
    'packages/weirjs/test/server/acme-challenge.test.ts: without an answer, with an error, and without the option, the handshake fails and the server goes on',
  ],
  '128 random bits': [
    'packages/weirjs/test/modules/headers.test.ts: are random, and in the sources of scripts and styles of that response only',
    'packages/weirjs/test/modules/cache/setup.test.ts: a nonce is used once, also in responses for one principal that depend on a session',
  ],
}

const SECTIONS = ['What counts as a vulnerability', 'What is on by default', 'What modules promise']

/** The list items of these sections; those about modules sentence by sentence. */
function promises(): string[] {
  const page = readFileSync('SECURITY.md', 'utf8')
  return SECTIONS.flatMap((heading) => {
    const [, section] = page.split(`## ${heading}\n`)
    assert.ok(section !== undefined, `SECURITY.md has no section "${heading}"`)
    const [, ...items] = section.split(/\n## /)[0]!.split(/^- /m)
    const plain = items.map((item) =>
      item
        .split('\n\n')[0]!
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    return heading === SECTIONS[2] ? plain.flatMap((item) => item.split(/(?<=\.) (?=[A-Z`])/)) : plain
  })
}

/** The titles of tests and suites in a file. */
function titlesIn(file: string): Set<string> {
  const calls = /\b(?:test|it|describe)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`)/g
  const titles = [...readFileSync(file, 'utf8').matchAll(calls)].map(([, ...forms]) => forms.find((one) => one !== undefined)!)
  return new Set(titles.map((title) => title.replace(/\$\{[^}]*\}/g, '…')))
}

test('every promise of SECURITY.md names the tests that hold it', () => {
  const all = promises()
  assert.ok(all.length > 50, `only ${all.length} promises were found`)
  const without = all.filter((promise) => !Object.keys(HELD).some((words) => promise.includes(words)))
  assert.deepEqual(without, [], 'add to HELD: some words of the promise, and the test that fails if it is broken')
})

test('every entry belongs to one promise', () => {
  const all = promises()
  const counts = Object.keys(HELD).map((words) => [words, all.filter((promise) => promise.includes(words)).length] as const)
  const wrong = counts.filter(([, count]) => count !== 1)
  assert.deepEqual(wrong, [], 'the words stand in no promise any more, or in several')
})

test('the tests that hold promises exist', () => {
  const found = new Map<string, Set<string>>()
  const missing = Object.values(HELD)
    .flat()
    .filter((name) => {
      const [, file, title] = /^(\S+\.test\.ts): (.+)$/.exec(name) ?? assert.fail(`not "file: title": ${name}`)
      if (!found.has(file!)) found.set(file!, existsSync(file!) ? titlesIn(file!) : new Set())
      return !found.get(file!)!.has(title!)
    })
  assert.deepEqual([...new Set(missing)], [])
})
