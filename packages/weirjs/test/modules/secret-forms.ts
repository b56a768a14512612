// Requests with a secret, in as many forms as clients have for one. They are in latin1.

export const SECRET = 'hunter2SECRET'

function get(target: string, fields = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${fields}Connection: close\r\n\r\n`
}

function post(type: string, body: string, target = '/any'): string {
  return `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

function chunked(chunks: string): string {
  return `POST /any HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}`
}

function refused(lines: string): string {
  return `GET /any HTTP/1.1\r\nHost: a\r\n${lines}\r\nBad Name: 1\r\n\r\n`
}

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'
const json = `{"password":"${SECRET}"}`
const form = `a=b&password=${SECRET}&c=d`
const part = `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${SECRET}\r\n--b--\r\n`
const partOf = (head: string, body: string): string => `--b\r\n${head}\r\n\r\n${body}\r\n--b--\r\n`
const bodies = { json, form, part }
const types = {
  json: JSON_TYPE,
  form: FORM,
  multipart: MULTIPART,
  text: 'text/plain',
  unknown: 'a/b',
  none: '',
  malformed: ';;',
  other: 'multipart/mixed; boundary=c',
}

/** Every body under every type. */
const bodiesUnderTypes = Object.entries(bodies).flatMap(([body, text]) =>
  Object.entries(types).map(([type, value]): [string, string] => [`${body} with the type ${type}`, post(value, text)]),
)

const targets = [
  `/reset/${SECRET}`,
  `/res%65t/${SECRET}`,
  `/%72%65%73%65%74/${SECRET}`,
  `/Reset/${SECRET}`,
  `/reset/${SECRET}/`,
  `/reset/${SECRET}/more`,
  `/reset/${SECRET}?a=b`,
  `/any?password=${SECRET}`,
  `/any?a=b&to%6ben=${SECRET}`,
  `/any?user%5Bpassword%5D=${SECRET}`,
  `/any?token[]=${SECRET}`,
  `/any?code=${SECRET}`,
  `/any?access_token=${SECRET}`,
  `/boom?access_token=${SECRET}`,
  `/boom?sig=${SECRET}`,
  `/boom/${SECRET}`,
  `/bo%6Fm/${SECRET}`,
  `http://localhost/reset/${SECRET}`,
  `http://localhost/res%65t/${SECRET}`,
  `http://localhost/any?token=${SECRET}`,
]

const fields = [
  `Authorization: Bearer ${SECRET}`,
  `Authorization: ${SECRET}`,
  `Proxy-Authorization: Basic ${SECRET}`,
  `Cookie: id=${SECRET}`,
  `Cookie: ${SECRET}`,
  `X-Api-Key: ${SECRET}`,
  `X-Auth-Token:${SECRET}`,
  `Referer: http://localhost/any?token=${SECRET}`,
  `Referer: http://localhost/reset/${SECRET}`,
  `Referer: http://ann:${SECRET}@localhost/`,
]

const refusedLines = [
  `Authorization: Bearer ${SECRET}`,
  `Authorization Bearer ${SECRET}`,
  `Authorization : Bearer ${SECRET}`,
  `Authorization: Bearer\r\n ${SECRET}`,
  `Authorization: Bearer\r${SECRET}`,
  `Authorization: Bearer\n${SECRET}`,
  `X-Unknown: ${SECRET}`,
  SECRET,
  `${SECRET}: a`,
  `\x00Cookie: id=${SECRET}`,
  `Host: b@${SECRET}/`,
  `Content-Length: ${SECRET}`,
  `Transfer-Encoding: ${SECRET}`,
  `Connection: ${SECRET}`,
]

const refusedFirst = [
  `GET /reset/${SECRET} more HTTP/1.1`,
  `GET /reset/ ${SECRET} HTTP/1.1`,
  `GET  /reset/${SECRET} HTTP/1.1`,
  `GET /reset\t/${SECRET} HTTP/1.1`,
  `GET /res%65t/${SECRET} HTTP/9.9`,
  `GET /reset/${SECRET} HTTP/1.1\rX: 1`,
  `GET reset/${SECRET} HTTP/1.1`,
  `GET /any?password=a ${SECRET} HTTP/1.1`,
  `Authorization: Bearer ${SECRET}`,
  `Bearer ${SECRET}`,
  SECRET,
  `GET ${SECRET}`,
  `{"a":"${SECRET}"}`,
  `password=${SECRET}`,
  `G\x00T /reset/${SECRET} HTTP/1.1`,
  `GET http://ann:${SECRET}@localhost/any HTTP/1.1`,
]

const moreTargets = [
  `/any?a=b;password=${SECRET}`,
  `/any?PASSWORD=${SECRET}`,
  `/any?password%3D${SECRET}`,
  `/any?user.password=${SECRET}`,
  `/any?password+=${SECRET}`,
  `/any?+password=${SECRET}`,
  `/any?%20token=${SECRET}`,
  `/any?token%00=${SECRET}`,
  `/any?next=%2Fany%3Ftoken%3D${SECRET}`,
  `/any?next=%252Fany%253Ftoken%253D${SECRET}`,
  `/any?a=http://ann:${SECRET}@host/`,
  `/any?data=%7B%22password%22%3A%22${SECRET}%22%7D`,
  `/any?a?token=${SECRET}`,
  `/any??token=${SECRET}`,
  `/any?&&token=${SECRET}`,
  `/any?token==${SECRET}`,
  `/any?a=b&amp;token=${SECRET}`,
  `/any#token=${SECRET}`,
  `/any?a=b#token=${SECRET}`,
  `/reset;a=b/${SECRET}`,
  `//reset/${SECRET}`,
  `/any/../reset/${SECRET}`,
  `/reset//${SECRET}`,
  `/./reset/${SECRET}`,
  `/reset/./${SECRET}`,
  `/reset/a/../${SECRET}`,
  `/reset%2F${SECRET}`,
  `/reset%2f${SECRET}`,
  `/reset%5C${SECRET}`,
  `/reset\\${SECRET}`,
  `/RESET/${SECRET}`,
  `/reset;/${SECRET}`,
  `/reset/;${SECRET}`,
  `/reset/%2e/${SECRET}`,
  `/reset/%zz${SECRET}`,
  `/reset/%ff${SECRET}`,
  `/%252572eset/${SECRET}`,
  `/any/token=${SECRET}`,
  `HTTP://localhost/reset/${SECRET}`,
  `http://localhost//reset/${SECRET}`,
  `http://localhost?token=${SECRET}`,
  `https://localhost/reset/${SECRET}`,
  `ftp://localhost/reset/${SECRET}`,
  `//localhost/reset/${SECRET}`,
  `ws://localhost/reset/${SECRET}`,
]

const moreFields = [
  `Set-Cookie: id=${SECRET}`,
  `Cookie2: id=${SECRET}`,
  `X-Amz-Security-Token: ${SECRET}`,
  `X-Access-Token: ${SECRET}`,
  `X-CSRF-Token: ${SECRET}`,
  `X-Forwarded-Authorization: Bearer ${SECRET}`,
  `X-Original-URL: /any?token=${SECRET}`,
  `X-Original-URL: /reset/${SECRET}`,
  `X-Rewrite-URL: /any?token=${SECRET}`,
  `Location: /any?token=${SECRET}`,
  `Content-Location: /any?token=${SECRET}`,
  `Link: </any?token=${SECRET}>; rel=next`,
  `Origin: http://ann:${SECRET}@localhost`,
  `DPoP: ${SECRET}`,
  `X-Vault-Token: ${SECRET}`,
  `Private-Token: ${SECRET}`,
  `Cf-Access-Jwt-Assertion: ${SECRET}`,
  `X-Goog-IAP-JWT-Assertion: ${SECRET}`,
  `Forwarded: for=1.2.3.4;secret=${SECRET}`,
  `Referer: //ann:${SECRET}@localhost/`,
  `Referer: /any?token=${SECRET}`,
  `Referer: http://localhost/any?a=b;token=${SECRET}`,
  `Referer: http://localhost/any#access_token=${SECRET}`,
  `Referer: http://localhost//reset/${SECRET}`,
  `Referer: http://localhost/any/../reset/${SECRET}`,
  `Referer: http://other.example/callback?code=${SECRET}`,
  `X-Password: ${SECRET}`,
  `Password: ${SECRET}`,
  `Secret: ${SECRET}`,
  `Apikey: ${SECRET}`,
  `Api-Key: ${SECRET}`,
  `Ocp-Apim-Subscription-Key: ${SECRET}`,
  `X-Session-Id: ${SECRET}`,
  `Host: ann:${SECRET}@localhost`,
  `X-Forwarded-Uri: /any?token=${SECRET}`,
  `Destination: http://localhost/any?token=${SECRET}`,
  `User-Agent: curl http://ann:${SECRET}@localhost/`,
  `Idempotency-Key: a\r\nAuthorization: ${SECRET}`,
]

const moreLines = ['OPTIONS', 'HEAD', 'DELETE', 'FOO', 'TRACE', 'PUT', 'QUERY'].map((method): [string, string] => [
  `${method} of the target`,
  get(`/reset/${SECRET}`).replace('GET', method),
])

const moreJson = [
  `{"user":{"password":["${SECRET}"]}}`,
  `{"password":{"value":"${SECRET}"}}`,
  `{"passWord":"${SECRET}"}`,
  `{"pass-word":"${SECRET}"}`,
  `{"new_password":"${SECRET}"}`,
  `{"newPassword":"${SECRET}"}`,
  `{"password2":"${SECRET}"}`,
  `{"headers":{"authorization":"Bearer ${SECRET}"}}`,
  `{"url":"http://x/?token=${SECRET}"}`,
  `{"a":1}\n{"password":"${SECRET}"}`,
  `{"password":/* c */"${SECRET}"}`,
  `{"password"\t:\n"${SECRET}"}`,
  `{"password":"a\\"${SECRET}"}`,
  `{"password":"\\u0068unter2SECRET"}`,
  `{"password":1,"password":"${SECRET}"}`,
  `{"query":"mutation { login(password: \\"${SECRET}\\") }"}`,
  `{"variables":{"password":"${SECRET}"}}`,
  `${'['.repeat(2000)}{"password":"${SECRET}"}${']'.repeat(2000)}`,
  `{"a":"${'x'.repeat(5000)}","password":"${SECRET}"}`,
  `{"data":${JSON.stringify(JSON.stringify({ data: json }))}}`,
  `{"password":\u0000"${SECRET}"}`,
  `)]}',\n${json}`,
  `callback(${json})`,
  `{"password ":"${SECRET}"}`,
  `{" password":"${SECRET}"}`,
  `{"password\\u200b":"${SECRET}"}`,
]

const moreForms = [
  `pass%77ord=${SECRET}`,
  `a=b;password=${SECRET}`,
  `password =${SECRET}`,
  `PASSWORD=${SECRET}`,
  `a=b\npassword=${SECRET}`,
  `a=b\r\npassword=${SECRET}\r\n`,
  `password:${SECRET}`,
  `password=hunter%32SECRET`,
  `data=${encodeURIComponent(json)}`,
  `data=${encodeURIComponent(form)}`,
  `payload=${encodeURIComponent(encodeURIComponent(json))}`,
  `password[]=${SECRET}`,
  `password%5B%5D=${SECRET}`,
  `user.password=${SECRET}`,
  `a=b&password\n=${SECRET}`,
  `a=b&password%0A=${SECRET}`,
  `a=b&&password=${SECRET}`,
  `?password=${SECRET}`,
]

const FD = 'Content-Disposition: form-data'
const moreParts = [
  partOf(`${FD}; name*=utf-8''password`, SECRET),
  partOf(`${FD}; name="user[password]"`, SECRET),
  partOf(`${FD}; name="user.password"`, SECRET),
  partOf(`${FD}; name="PASSWORD"`, SECRET),
  partOf(`${FD}; name="pass%77ord"`, SECRET),
  partOf(`${FD}; name="password"; filename="a.txt"`, SECRET),
  partOf(`${FD};\r\n name="password"`, SECRET),
  partOf(`CONTENT-DISPOSITION: FORM-DATA; NAME="password"`, SECRET),
  partOf(`Content-Type: text/plain\r\n${FD}; name="password"`, SECRET),
  partOf(`${FD}; name="password"\r\nContent-Transfer-Encoding: 8bit`, SECRET),
  partOf(`${FD}; name="password`, SECRET),
  partOf(`${FD}; name='password'`, SECRET),
  partOf(`${FD}; name="a"; name="password"`, SECRET),
  partOf(`${FD}; name="password"; name="a"`, SECRET),
  partOf(`${FD}; name="password"\r\nBad Header`, SECRET),
  `preamble password=${SECRET}\r\n${part}`,
  `${part}epilogue password=${SECRET}`,
  part.replaceAll('\r\n', '\n'),
  part.replace('--b--\r\n', ''),
  part.replace('--b\r\n', '--b  \r\n'),
  `--b\r\n${FD}; name="password"\r\n\r\nhunter\r\n--bx\r\n2SECRET\r\n--b--\r\n`,
  `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n${FD}; name="password"\r\n\r\n--c\r\n\r\n${SECRET}\r\n--c--\r\n--b--\r\n`,
  partOf(`${FD}; name="data"\r\nContent-Type: application/x-www-form-urlencoded`, form),
  partOf(`${FD}; name="data"\r\nContent-Type: text/plain`, json),
  partOf(`${FD}; name="${SECRET}"`, 'a').replace(SECRET, `password=${SECRET}`),
]

const moreTexts = [
  ['application/xml', `<login password="${SECRET}"/>`],
  ['application/soap+xml', `<wsse:Password Type="a">${SECRET}</wsse:Password>`],
  ['application/toml', `password = "${SECRET}"`],
  ['text/plain', `Password: ${SECRET}`],
  ['text/plain', `Authorization: Bearer ${SECRET}`],
  ['application/yaml', `password: >\n  ${SECRET}\n`],
  ['application/yaml', `password:\n  - ${SECRET}\n`],
  ['application/yaml', `"password": '${SECRET}'\n`],
  ['application/ld+json', json],
  ['application/json; charset=utf-16le', Buffer.from(json, 'utf16le').toString('latin1')],
  ['application/json; charset=utf-16', `\xff\xfe${Buffer.from(json, 'utf16le').toString('latin1')}`],
  ['application/octet-stream', json],
  ['application/jwt', `token=${SECRET}`],
] as const

export const FORMS: readonly (readonly [name: string, request: string])[] = [
  ...bodiesUnderTypes,
  ...targets.map((target): [string, string] => [`the target ${target}`, get(target)]),
  ...fields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ...refusedLines.map((lines): [string, string] => [`refused after ${JSON.stringify(lines)}`, refused(lines)]),
  ...refusedFirst.map((line): [string, string] => [`refused for ${JSON.stringify(line)}`, `${line}\r\nBad Name: 1\r\n\r\n`]),
  ...moreTargets.map((target): [string, string] => [`the target ${target}`, get(target)]),
  ...moreFields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ...moreLines,
  ...moreJson.map((text, i): [string, string] => [`json ${i} ${text.slice(0, 100)}`, post(JSON_TYPE, text)]),
  ...moreForms.map((text): [string, string] => [`form ${text}`, post(FORM, text)]),
  ...moreParts.map((text, i): [string, string] => [`part ${i} ${text}`, post(MULTIPART, text)]),
  ...moreTexts.map(([type, text]): [string, string] => [`text ${type} ${text}`, post(type, text)]),
  ['JSON in a part', post(MULTIPART, partOf('Content-Disposition: form-data; name="data"\r\nContent-Type: application/json', json))],
  ['a form in a part', post(MULTIPART, partOf('Content-Disposition: form-data; name="data"', form))],
  ['JSON in a file', post(MULTIPART, partOf('Content-Disposition: form-data; name="a"; filename="a.json"', json))],
  [
    'a part with a misleading file name',
    post(MULTIPART, partOf('Content-Disposition: form-data; filename="a;name=x"; name="password"', SECRET)),
  ],
  ['a part whose name is not quoted', post(MULTIPART, partOf('Content-Disposition: form-data; name=password', SECRET))],
  ['a part with blanks', post(MULTIPART, partOf('Content-Disposition: form-data; name = "password"', SECRET))],
  ['JSON in a string of JSON', post(JSON_TYPE, JSON.stringify({ data: json }))],
  ['a form in a string of JSON', post(JSON_TYPE, JSON.stringify({ data: form }))],
  ['an escaped name', post(JSON_TYPE, `{"passw\\u006frd":"${SECRET}"}`)],
  ['JSON without quotes', post(JSON_TYPE, `{password: ${SECRET}}`)],
  ['JSON with single quotes', post(JSON_TYPE, `{'password': '${SECRET}'}`)],
  ['JSON that is cut', post(JSON_TYPE, `{"password":"${SECRET}`)],
  ['JSON in a list', post(JSON_TYPE, `{"passwords":["a",{"b":"${SECRET}"}]}`)],
  ['JSON with a mark', post(JSON_TYPE, `\xef\xbb\xbf${json}`)],
  ['JSON that is not UTF-8', post(JSON_TYPE, `{"password":"${SECRET}","name":"\xff"}`)],
  ['a form that is not UTF-8', post(FORM, `name=\xe9&password=${SECRET}`)],
  ['a form with a bare CR', post(FORM, `password=a\r${SECRET}`)],
  ['a declared property', post(JSON_TYPE, `{"hidden":"${SECRET}"}`, '/declared')],
  ['a declared property of another type', post('text/plain', `{"hidden":"${SECRET}"}`, '/declared')],
  ['YAML', post('application/yaml', `a: 1\npassword: ${SECRET}\n`)],
  ['XML', post('application/xml', `<a><password>${SECRET}</password></a>`)],
  ['a chunk', chunked(`${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`)],
  ['a secret in two chunks', chunked(`f\r\npassword=hunter\r\n7\r\n2SECRET\r\n0\r\n\r\n`)],
  ['an extension of a chunk', chunked(`2;token=${SECRET}\r\nhi\r\n0\r\n\r\n`)],
  ['an extension of the last chunk', chunked(`2\r\nhi\r\n0;a=${SECRET}\r\n\r\n`)],
  ['a trailer', chunked(`2\r\nhi\r\n0\r\nX-Auth-Token: ${SECRET}\r\n\r\n`)],
  ['a trailer after a bare CR', chunked(`2\r\nhi\r\n0\r\nX-A: 1\rX-Auth-Token: ${SECRET}\r\n\r\n`)],
  ['a trailer that is none', chunked(`2\r\nhi\r\n0\r\nBearer ${SECRET}\r\n\r\n`)],
  ['a chunk that is malformed', chunked(`zz\r\n${json}\r\n0\r\n\r\n`)],
  ['what the response repeats', get(`/echo/${SECRET}`, `Authorization: Bearer ${SECRET}\r\n`)],
  ['a secret of the response, which it repeats', get(`/issue/${SECRET}`)],
  ['a cookie of the response, which it repeats', get(`/cookie/${SECRET}`)],
]
