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

const coded = Buffer.from(SECRET).toString('base64')
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

/** A secret of which every coding makes something else. */
const ODD = encodeURIComponent('hunter <&"\'>\u00e9/+ SECRET')
/** How a response may write a secret of its request: see the route. */
export const CODINGS = [
  'text',
  'percent',
  'lower case',
  'plus',
  'json',
  'ascii json',
  'html json',
  'json twice',
  'html',
  'hex html',
  'xml',
  'base64',
  'base64url',
] as const

const basic = Buffer.from(`ann:${SECRET}`).toString('base64')

const newTargets = [
  `/any?pass%2577ord=${SECRET}`,
  `/any?password=hunter2%2fSECRET`,
  `/any?password=hunter2+SECRET`,
  `/any?password=%68unter2%53ECRET`,
  `/any?password[0]=${SECRET}`,
  `/any?a[b][][password]=${SECRET}`,
  `/any?a.b.password=${SECRET}`,
  `/any?password%5b0%5d%5ba%5d=${SECRET}`,
  `/any?data=%7B%22p%5Cu0061ssword%22%3A%22${SECRET}%22%7D`,
  `/any?data=%5B%22password%22%2C%22${SECRET}%22%5D`,
  `/any?data=%7B%27password%27%3A%27${SECRET}%27%7D`,
  `/any?X-Amz-Signature=${SECRET}`,
  `/any?X-Goog-Signature=${SECRET}`,
  `/any?SAMLResponse=${SECRET}`,
  `/any?code_verifier=${SECRET}`,
  `/any?pass=${SECRET}`,
  `/any?passcode=${SECRET}`,
  `/any;password=${SECRET}`,
  `/any;a=b;password=${SECRET};c=d/e`,
  `/any/;password=${SECRET}/more`,
  `/any;jsessionid=${SECRET}`,
  `/any;p%61ssword=${SECRET}`,
  `/any;password%3D${SECRET}`,
  `/reset;v=1/${SECRET};w=2`,
  `/reset/a%2f${SECRET}`,
  `/reset%252f${SECRET}`,
  `/%2freset/${SECRET}`,
  `/reset/%252e%252e/${SECRET}`,
  `/any?next=https%3A%2F%2Flocalhost%2Freset%2F${SECRET}`,
  `/any?next=/reset/${SECRET}`,
  `/any?next=%2Freset%2F${SECRET}`,
  `/any?a=b%26password%3D${SECRET}`,
  `/any?a=b%0d%0aAuthorization:%20Bearer%20${SECRET}`,
  `/any?authorization=Bearer%20${SECRET}`,
  `/any?auth=Bearer+${SECRET}`,
  `/any?h=Authorization:+Bearer+${SECRET}`,
  `/any?header=Cookie%3A%20id%3D${SECRET}`,
  `/any#/callback?code=${SECRET}`,
]

const newFields = [
  `Authorization: Basic ${basic}`,
  `Authorization: Digest username="ann", response="${SECRET}"`,
  `Authorization: Bearer a, Basic ${SECRET}`,
  `Cookie: a="${SECRET}"`,
  `Cookie: a=b; c="d ${SECRET}"; e=f`,
  `Cookie: $Version=1; a=${SECRET}`,
  `Cookie: a=b, c=${SECRET}`,
  `Cookie: a=b\r\nCookie: c=${SECRET}`,
  `Cookie:\ta=${SECRET}`,
  `X-Auth: ${SECRET}`,
  `X-Pin: ${SECRET}`,
  `X-Otp: ${SECRET}`,
  `X-Jwt: ${SECRET}`,
  `X-Pwd: ${SECRET}`,
  `X-Pass: ${SECRET}`,
  `Bearer: ${SECRET}`,
  `Sec-WebSocket-Protocol: bearer, ${SECRET}`,
  `Sec-WebSocket-Protocol: graphql-ws, access_token, ${SECRET}`,
  `Sec-WebSocket-Protocol: access_token.${SECRET}`,
  `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${SECRET}, base64.binary.k8s.io`,
  `Sec-WebSocket-Protocol: bearer.eyJhbGciOiJIUzI1NiJ9.${SECRET}.c2ln`,
  `Upload-Concat: final;${SECRET}`,
  `Upload-Concat: final;files/a ${SECRET}`,
  `X-Note: Bearer ${SECRET}`,
  `X-Note: Basic ${basic}`,
  `X-Note: Authorization: Bearer ${SECRET}`,
  `X-Note: password=${SECRET}`,
  `X-Note: {"password":"${SECRET}"}`,
  `X-Note: a, password: ${SECRET}`,
  `User-Agent: a (token=${SECRET})`,
  `Link: <https://a.example/reset/${SECRET}>; rel="next"`,
  `Referer: /any;password=${SECRET}`,
  `Referer: http://localhost/any?next=%2Freset%2F${SECRET}`,
  `Referer: android-app://a.example/reset/${SECRET}`,
  `X-Forwarded-Url: localhost/reset/${SECRET}`,
  `Baggage: token=${SECRET}`,
  `Prefer: respond-async; token="${SECRET}"`,
  `Early-Data: 1\r\nX-Api-Key:\t${SECRET}`,
]

const newJson = [
  `{"p\\u0061ssword":"\\u0068unter2\\u0053ECRET"}`,
  `{"p%61ssword":"${SECRET}"}`,
  `{"password[]":"${SECRET}"}`,
  `{"user[password]":"${SECRET}"}`,
  `{"user.password":"${SECRET}"}`,
  `{"data":"{\\"p\\\\u0061ssword\\":\\"${SECRET}\\"}"}`,
  `{"data":"{\\u0022password\\u0022:\\u0022${SECRET}\\u0022}"}`,
  `{"data":"password\\u003d${SECRET}"}`,
  `{"data":"password%3D${SECRET}"}`,
  `{"data":"%7B%22password%22%3A%22${SECRET}%22%7D"}`,
  `["password","${SECRET}"]`,
  `{"a":[["password","${SECRET}"]]}`,
  `{"name":"password","value":"${SECRET}"}`,
  `{"value":"${SECRET}","name":"password"}`,
  `{"key":"password","kind":"text","value":"${SECRET}"}`,
  `{"headers":[{"name":"Authorization","value":"Bearer ${SECRET}"}]}`,
  `{"pass":"${SECRET}"}`,
  `{"passcode":"${SECRET}"}`,
  `{"bearer":"${SECRET}"}`,
  `{"note":"Authorization: Bearer ${SECRET}"}`,
  `{"note":"Authorization:\\tBasic ${basic}"}`,
  `{"note":"Cookie: a=${SECRET}"}`,
  `{"password"\u00a0:"${SECRET}"}`,
  `{"password"//\n:"${SECRET}"}`,
  `{"password"/* a */:"${SECRET}"}`,
  `{"password":"a\\\n${SECRET}"}`,
  `{"password":"a\n${SECRET}"}`,
  `{"password":'a"${SECRET}'}`,
  `{"password":\`${SECRET}\`}`,
  `{"password":{"a":{"b":["c","${SECRET}"]}},"d":1}`,
  `{"a":"\\","password":"${SECRET}"}`,
  `"password":"${SECRET}"`,
  `{"a":1,"password":"hunter2\\/SECRET"}`,
  `{"x":"\ud83d","password":"${SECRET}"}`,
].map((text) => Buffer.from(text).toString('latin1'))

const newForms = [
  `a=1&password%3D${SECRET}`,
  `%70%61%73%73%77%6f%72%64=${SECRET}`,
  `%2570assword=${SECRET}`,
  `password[0]=${SECRET}`,
  `a%5bpassword%5d%5b%5d=${SECRET}`,
  `password=hunter2+SECRET`,
  `password=hunter2%20SECRET`,
  `password=hunter2%26SECRET`,
  `a=b&pass=${SECRET}`,
  `client_assertion=${SECRET}`,
  `grant_type=authorization_code&code=${SECRET}`,
  `code_verifier=${SECRET}`,
  `SAMLResponse=${SECRET}`,
  `a=b%26password%3D${SECRET}`,
  `name=password&value=${SECRET}`,
  `data=[["password","${SECRET}"]]`,
]

const newParts = [
  partOf(`${FD}; name="=?utf-8?B?${Buffer.from('password').toString('base64')}?="`, SECRET),
  partOf(`${FD}; name="=?utf-8?Q?p=61ssword?="`, SECRET),
  partOf(`${FD}; name="p=61ssword"`, SECRET),
  partOf(`${FD}; name="pass\\word"`, SECRET),
  partOf(`${FD}; name*0="pass"; name*1="word"`, SECRET),
  partOf(`${FD}; name*0*=utf-8''p%61ss; name*1="word"`, SECRET),
  partOf(`${FD}; name="pass\\u0077ord"`, SECRET),
  partOf(`${FD}; name="pass%2577ord"`, SECRET),
  partOf(`${FD}; name="password[]"`, SECRET),
  partOf(`${FD}; name="a[password][0]"`, SECRET),
  partOf(`${FD};name=password`, SECRET),
  partOf(`${FD}; name="password "`, SECRET),
  partOf(`${FD}; NAME = password`, SECRET),
  partOf(`${FD} ; name="pass"`, SECRET),
  partOf(`X-Auth-Token: ${SECRET}\r\n${FD}; name="a"`, 'b'),
  partOf(`${FD}; name="a"; filename="token=${SECRET}"`, 'b'),
  partOf(`${FD}; name="a"\r\nX: password=${SECRET}`, 'b'),
  partOf(`${FD}; name="data"\r\nContent-Transfer-Encoding: quoted-printable`, `{"password":"hunter2=\r\nSECRET"}`),
  `--b\r\n${FD}; name="a"\r\n\r\n\r\n--b\r\n${FD}; name="password"\r\n\r\n${SECRET}\r\n--b--`,
]

const newTexts = [
  ['application/xml', `<password><![CDATA[${SECRET}]]></password>`],
  ['application/xml', `<a><password><b>${SECRET}</b></password></a>`],
  ['application/xml', `<field name="password">${SECRET}</field>`],
  ['application/xml', `<field name="password" value="${SECRET}"/>`],
  ['application/xml', `<password\n>${SECRET}</password\n>`],
  ['application/xml', `<add key="password" value="${SECRET}"/>`],
  ['application/yaml', `- name: password\n  value: ${SECRET}\n`],
  ['application/yaml', `password: |\n\n  a\n  ${SECRET}\n`],
  ['application/yaml', `? password\n: ${SECRET}\n`],
  ['text/plain', `http://ann:${SECRET}@localhost/`],
  ['text/plain', `see http://localhost/any?next=%2F%3Ftoken%3D${SECRET}`],
  ['text/plain', `GET / HTTP/1.1\r\nCookie: id=${SECRET}\r\n\r\n`],
  ['application/graphql', `mutation { login(user: "ann", password: "${SECRET}") }`],
  ['application/toml', `password = '''\n${SECRET}'''`],
  ['application/x-ndjson', `{"a":1}\n{"password":"${SECRET}"}\n{"b":1}\n`],
  ['application/merge-patch+json', `[{"op":"replace","path":"/password","value":"${SECRET}"}]`],
] as const

/** Fields whose values are bytes. */
const codedFields = [
  `Upload-Metadata: token ${coded}`,
  `Upload-Metadata: filename YQ==,  password ${coded} , filetype YQ==`,
  `Upload-Metadata: filename YQ==,api-key\t${coded}`,
  ...['X-Token-Bin', 'jwt-bin', 'Auth-Bin', 'x-auth-bin', 'sid-bin'].map((name) => `${name}: ${coded}`),
]

const newRefused = [
  `Sec-WebSocket-Protocol: bearer, ${SECRET}`,
  `Sec-WebSocket-Key: ${SECRET}`,
  `Upgrade: ${SECRET}`,
  `Content-Type: multipart/form-data; boundary=${SECRET}`,
  `Accept: ${SECRET}`,
  `Range: bytes=${SECRET}`,
  `Cookie: a="${SECRET}"`,
  `Authorization: Basic ${basic}`,
]

const websocket = (target: string, fields = ''): string =>
  get(target, `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${fields}`).replace(
    'Connection: close',
    'Connection: Upgrade, close',
  )

/** A path at the beginning of a target, of a link in a field, or of a parameter. */
const PATH_BEGINS = /(?<=[ =]|localhost)\/(?!\/)/g
const LINK_BEGINS = /(?<==)\/(?!\/)/g
const CODED_BEGINS = /(?<==)(%(?:25)?2F)/gi

/**
 * The same request of a client that knows the application below a path.
 * @param isRemoved whether a proxy has removed the path of the target, and states it
 */
export function movedBelow(path: string, request: string, isRemoved: boolean): string {
  const end = request.search(/\r\n\r\n|$/)
  const lines = request.slice(0, end).split('\r\n')
  const moved = lines.map((line, i) =>
    line.replace(i === 0 && isRemoved ? LINK_BEGINS : PATH_BEGINS, `${path}/`).replace(CODED_BEGINS, `$1${path.slice(1)}$1`),
  )
  if (isRemoved && lines[1]?.startsWith('Host: ')) moved.splice(2, 0, `X-Forwarded-Prefix: ${path}`)
  return moved.join('\r\n') + request.slice(end)
}

export const FORMS: readonly (readonly [name: string, request: string])[] = [
  ['a place that the response names', post('text/plain', 'a', '/begin')],
  ...bodiesUnderTypes,
  ...targets.map((target): [string, string] => [`the target ${target}`, get(target)]),
  ...fields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ...refusedLines.map((lines): [string, string] => [`refused after ${JSON.stringify(lines)}`, refused(lines)]),
  ...refusedFirst.map((line): [string, string] => [`refused for ${JSON.stringify(line)}`, `${line}\r\nBad Name: 1\r\n\r\n`]),
  ...moreTargets.map((target): [string, string] => [`the target ${target}`, get(target)]),
  ...moreFields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ...codedFields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ['bytes that the response has as text', get('/decoded', `X-Token-Bin: ${coded}\r\n`)],
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
  ...newTargets.map((target): [string, string] => [`the target ${target}`, get(target)]),
  ...newFields.map((field): [string, string] => [`the field ${field}`, get('/any', `${field}\r\n`)]),
  ...newJson.map((text, i): [string, string] => [`new json ${i} ${text.slice(0, 100)}`, post(JSON_TYPE, text)]),
  ...newForms.map((text): [string, string] => [`form ${text}`, post(FORM, text)]),
  ...newParts.map((text, i): [string, string] => [`new part ${i} ${text}`, post(MULTIPART, text)]),
  ...newTexts.map(([type, text]): [string, string] => [`text ${type} ${text}`, post(type, text)]),
  ...newRefused.map((lines): [string, string] => [`refused after ${JSON.stringify(lines)}`, refused(lines)]),
  ...CODINGS.map((coding): [string, string] => [
    `a response that repeats a secret as ${coding}`,
    get(`/repeat/${ODD}?as=${encodeURIComponent(coding)}`),
  ]),
  ...CODINGS.map((coding): [string, string] => [
    `a response that repeats a plain secret as ${coding}`,
    get(`/repeat/${SECRET}?as=${encodeURIComponent(coding)}`),
  ]),
  ['a password of Basic that the response repeats', get('/basic', `Authorization: Basic ${basic}\r\n`)],
  ['a trailer of the response', get(`/trailer/${SECRET}`, 'TE: trailers\r\n')],
  ['an error with causes', get(`/fail/${SECRET}`)],
  ['an upgrade that no route accepts', websocket(`/any?token=${SECRET}`, `Sec-WebSocket-Protocol: bearer, ${SECRET}\r\n`)],
  ['an upgrade that is accepted', websocket(`/socket/${SECRET}?token=${SECRET}`, `Sec-WebSocket-Protocol: bearer, ${SECRET}\r\n`)],
]
