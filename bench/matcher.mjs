// The time of one route look-up, compared with find-my-way (unchanged, and with its generated code).
//
//   npm run compile && node bench/matcher.mjs            or: node bench/matcher.mjs <directory of the compiled routing room>
//
// Every path is a string newly created from bytes, as in a server: its hash is unknown, and nothing is cached. Rounds of the contenders
// alternate, and a number is the median of all rounds. The work is not quite equal: find-my-way's `find` also looks for a query and percent
// signs in the URL and creates a record of parameters, which weir does elsewhere. `weir+record` creates one too.

import os from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import findMyWay from 'find-my-way'

const routing = pathToFileURL(`${resolve(process.argv[2] ?? new URL('../build/packages/weirjs/src/routing', import.meta.url).pathname)}/`)
const { Matcher } = await import(new URL('matcher.js', routing))
const { Template } = await import(new URL('template.js', routing))

const WARM_UP_ROUNDS = 40
const ROUNDS = 301
const LOOKUPS = 2_000

const table = routeTable()
const hits = table.map(([method, template]) => [method, filled(template)])

const CASES = {
  'exact path': [['GET', '/api/v1/users']],
  'exact path, the last of 200': [['GET', '/api/v1/warehouses']],
  'one parameter': [['GET', '/api/v1/users/12345']],
  'two parameters, 5 segments': [['GET', '/api/v1/projects/12345/members/678']],
  rest: [['GET', '/static/css/themes/dark/main.css']],
  '200 routes, each in turn': hits,
  'no such path': [['GET', '/api/v1/nothing/here/at/all']],
  'no such path, near a route': [['GET', '/api/v1/projects/12345/member']],
}

const contenders = { weir: weir(), 'weir+record': weirWithRecord(), 'find-my-way': other(false), 'find-my-way compiled': other(true) }

const names = Object.keys(contenders)
for (const [method, path] of hits) {
  for (const name of names) if (contenders[name](method, path) === null) throw new Error(`${name} does not find ${method} ${path}`)
}

console.log(
  `Node ${process.version}, ${os.cpus().length} x ${os.cpus()[0].model}, ${table.length} routes, ns per lookup (median of ${ROUNDS} rounds of ${LOOKUPS})`,
)
console.log(['case'.padEnd(30), ...names.map((name) => name.padStart(20)), 'to compiled'.padStart(12), 'to plain'.padStart(12)].join(' '))
for (const requests of Object.values(CASES)) measure(requests, WARM_UP_ROUNDS)
for (const [title, requests] of Object.entries(CASES)) {
  const ns = measure(requests, ROUNDS)
  const row = names.map((name) => ns[name].toFixed(1).padStart(20))
  const ratios = [
    (ns['weir'] / ns['find-my-way compiled']).toFixed(2).padStart(12),
    (ns['weir'] / ns['find-my-way']).toFixed(2).padStart(12),
  ]
  console.log([title.padEnd(30), ...row, ...ratios].join(' '))
}

function measure(requests, count) {
  const rounds = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < count; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length]
      rounds[name].push(timed(contenders[name], freshRequests(requests)))
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(rounds[name])]))
}

function timed(find, { methods, paths }) {
  let found = 0
  const start = process.hrtime.bigint()
  for (let i = 0; i < paths.length; i++) if (find(methods[i], paths[i]) !== null) found++
  const ns = Number(process.hrtime.bigint() - start) / paths.length
  // Using the result keeps the compiler from removing the look-ups.
  if (found !== 0 && found !== paths.length) throw new Error(`${found} of ${paths.length} found`)
  return ns
}

function freshRequests(requests) {
  const methods = []
  const paths = []
  for (let i = 0; i < LOOKUPS; i++) {
    const [method, path] = requests[i % requests.length]
    methods.push(method)
    paths.push(Buffer.from(path).latin1Slice(0, path.length))
  }
  return { methods, paths }
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]
}

function weir() {
  const matcher = new Matcher()
  for (const [method, template] of table) matcher.add(method, new Template(template), null, { label: template })
  return (method, path) => matcher.find(method, path, '')
}

function weirWithRecord() {
  const matcher = new Matcher()
  for (const [method, text] of table) {
    const template = new Template(text)
    matcher.add(method, template, null, { label: text, names: template.parameters.map(({ name }) => name) })
  }
  return (method, path) => {
    const match = matcher.find(method, path, '')
    if (match === null) return null
    const params = {}
    const { names } = match.route
    for (let i = 0; i < names.length; i++) params[names[i]] = match.values[i]
    return { route: match.route, params }
  }
}

function other(isCompiled) {
  const router = findMyWay()
  for (const [method, template] of table) router.on(method, template.replace(/\*\w+$/, '*'), () => template)
  if (isCompiled) router.compile()
  return (method, path) => router.find(method, path)
}

/** 200 routes of the usual kind: 33 resources with 6 routes each, and two more. */
function routeTable() {
  const resources =
    'users projects teams orders products invoices payments customers sessions tokens comments posts articles images files folders events jobs tasks reports metrics alerts hooks keys roles groups plans coupons carts reviews ratings shipments warehouses'.split(
      ' ',
    )
  const routes = resources.flatMap((name) => [
    ['GET', `/api/v1/${name}`],
    ['POST', `/api/v1/${name}`],
    ['GET', `/api/v1/${name}/:id`],
    ['PUT', `/api/v1/${name}/:id`],
    ['DELETE', `/api/v1/${name}/:id`],
    ['GET', `/api/v1/${name}/:id/members/:member`],
  ])
  return [...routes, ['GET', '/health'], ['GET', '/static/*path']]
}

function filled(template) {
  return template.replace(':id', '12345').replace(':member', '678').replace('*path', 'css/main.css')
}
