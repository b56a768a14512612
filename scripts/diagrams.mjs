// The diagrams of the documentation, light and dark: `node scripts/diagrams.mjs --write` writes them into docs/images/. Without `--write`, it
// prints which of them differ; with `--list`, their names.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../docs/images')
const SCHEMES = {
  light: {
    ink: '#16211f',
    soft: '#53625e',
    line: '#7d8d88',
    box: '#ffffff',
    own: '#e3f1ef',
    edge: '#0f6b63',
    bad: '#b3261e',
    ground: '#f6f9f8',
  },
  dark: {
    ink: '#e2eae8',
    soft: '#9dada8',
    line: '#6d7f7a',
    box: '#161e1c',
    own: '#123531',
    edge: '#63cdbf',
    bad: '#ff9a90',
    ground: '#101716',
  },
}

/** What happens to a request, from above: a step, what it does, and the statuses with which it may end here. `own`: code of the program. */
const FLOW = [
  { name: 'Head', does: 'parses the request line and the fields', ends: '400, 414, 431' },
  { name: 'Host', does: 'is this a name that the server answers?', ends: '421' },
  { name: 'Route', does: 'finds the route of the path and the method', ends: '404, 405' },
  { name: 'Gates', does: 'may this client send this request?', ends: '401, 403, 429', own: true },
  { name: 'Body', does: 'checks its type and length, then reads it', ends: '413, 415' },
  { name: 'Middleware', does: 'runs around everything below', ends: 'any', own: true },
  { name: 'Arguments', does: 'converts and checks what was sent', ends: '400, 422' },
  { name: 'Handler', does: 'gets them typed, and returns a value', ends: 'any', own: true },
  { name: 'Declared responses', does: 'may this value be sent?', ends: '500' },
  { name: 'Before send', does: 'sets fields, compresses', ends: '', own: true },
  { name: 'Sent', does: 'text, bytes, a file or a stream', ends: '' },
  { name: 'Observers', does: 'logs, metrics and traces get one record', ends: '', own: true },
]

const WIDTH = 720
const ROW = 62
const BOX = { left: 40, width: 440, height: 46 }
const TOP = 64

const DIAGRAMS = {
  'request-flow': flow,
  speed,
  contract: boxes(
    'One contract, and what follows from it',
    300,
    [
      { id: 'contract', x: 260, y: 110, name: 'contract.ts', does: 'paths, schemas, answers', own: true },
      { id: 'server', x: 24, y: 24, name: 'The server', does: 'handlers have to fit' },
      { id: 'client', x: 496, y: 24, name: 'The client', does: 'a function for each route' },
      { id: 'document', x: 24, y: 200, name: 'OpenAPI document', does: 'clients in other languages' },
      { id: 'tests', x: 496, y: 200, name: 'Your tests', does: 'no other response passes' },
    ],
    [
      ['contract', 'server'],
      ['contract', 'client'],
      ['contract', 'document'],
      ['contract', 'tests'],
    ],
  ),
  relay: boxes(
    'A message reaches the clients of every process',
    322,
    [
      { id: 'ann', x: 24, y: 24, name: 'Ann', does: 'says “dinner?”' },
      { id: 'bob', x: 260, y: 24, name: 'Bob', does: 'hears it' },
      { id: 'cleo', x: 496, y: 24, name: 'Cleo', does: 'hears it' },
      { id: 'one', x: 24, y: 132, name: 'Process 1', does: 'broadcasts', own: true },
      { id: 'two', x: 260, y: 132, name: 'Process 2', does: 'subscribed', own: true },
      { id: 'three', x: 496, y: 132, name: 'Process 3', does: 'subscribed', own: true },
      { id: 'relay', x: 260, y: 240, name: 'Redis or NATS', does: 'keeps what was missed' },
    ],
    [
      ['ann', 'one'],
      ['one', 'relay'],
      ['relay', 'two'],
      ['relay', 'three'],
      ['two', 'bob'],
      ['three', 'cleo'],
    ],
  ),
  proxies: boxes(
    'Who may say who the client is',
    226,
    [
      { id: 'client', x: 24, y: 24, name: '203.0.113.7', does: 'a client' },
      { id: 'proxy', x: 260, y: 24, name: '10.0.0.1', does: 'trusted: its field counts' },
      { id: 'weir', x: 496, y: 84, name: 'weir', does: 'reads X-Forwarded-For', own: true },
      { id: 'stranger', x: 24, y: 144, name: '203.0.113.9', does: 'its field is ignored' },
    ],
    [
      ['client', 'proxy'],
      ['proxy', 'weir'],
      ['stranger', 'weir'],
    ],
  ),
  timeouts: timeline('Which timeout covers which part of a request', [
    { name: 'The head arrives', from: 0, to: 14, by: 'headersTimeout' },
    { name: 'The body arrives', from: 14, to: 40, by: 'minBodyRate, after bodyGracePeriod' },
    { name: 'The handler works', from: 40, to: 64, by: 'requestTimeout' },
    { name: 'The client reads the response', from: 64, to: 84, by: 'writeTimeout' },
    { name: 'Nothing, until the next request', from: 84, to: 100, by: 'keepAliveTimeout' },
  ]),
  stop: timeline('What happens after SIGTERM', [
    { name: 'Not ready, but every request is served', from: 0, to: 25, by: 'readyDelay' },
    { name: 'Requests in flight end, and no new connection is accepted', from: 25, to: 75, by: 'grace' },
    { name: 'What is left is aborted, and the process ends', from: 75, to: 80, by: '' },
    { name: 'systemd or Kubernetes would kill it only now', from: 98, to: 100, by: 'their own limit' },
  ]),
  'resumable-upload': sequence(
    'An upload goes on after a break',
    ['Client', 'weir'],
    [
      { says: 'POST /files', to: 1 },
      { says: '201, Location: /files/7f3a', to: 0 },
      { says: 'PATCH: the first 40 MB, then the connection breaks', to: 1, fails: true },
      { says: 'HEAD /files/7f3a', to: 1 },
      { says: '204, Upload-Offset: 40000000', to: 0 },
      { says: 'PATCH: the rest', to: 1 },
      { says: 'complete', to: 0 },
    ],
  ),
}

const NODE = { width: 200, height: 58 }

/** Boxes with arrows between them, which begin and end at their edges. */
function boxes(title, height, nodes, arrows) {
  return (colors) => {
    const centre = ({ x, y }) => [x + NODE.width / 2, y + NODE.height / 2]
    /** Where the way from the centre of a box to that of another leaves it. */
    const edge = (from, to) => {
      const [x, y] = centre(from)
      const [dx, dy] = [centre(to)[0] - x, centre(to)[1] - y]
      const part = Math.min(NODE.width / 2 / Math.abs(dx || 1e-9), NODE.height / 2 / Math.abs(dy || 1e-9))
      return [x + dx * part, y + dy * part].map((one) => Math.round(one))
    }
    const called = (id) => nodes.find((node) => node.id === id)
    return svg(title, height, colors, [
      ...arrows.map(([from, to]) => line(...edge(called(from), called(to)), ...edge(called(to), called(from)), colors.line, 'arrow')),
      ...nodes.flatMap(({ x, y, name, does, own = false }) => [
        `<rect x="${x}" y="${y}" width="${NODE.width}" height="${NODE.height}" rx="8" fill="${own ? colors.own : colors.box}" stroke="${own ? colors.edge : colors.line}"/>`,
        text(x + NODE.width / 2, y + 25, name, colors.ink, 'text-anchor="middle" font-weight="600"'),
        text(x + NODE.width / 2, y + 45, does, colors.soft, 'text-anchor="middle" font-size="13"'),
      ]),
    ])
  }
}

/** Phases, one below the other, from left to right. `from` and `to` are parts of a hundred: they are not to scale. */
function timeline(title, phases) {
  return (colors) => {
    const row = 58
    const [left, width] = [24, WIDTH - 48]
    const height = phases.length * row + 40
    return svg(title, height, colors, [
      ...phases.flatMap(({ name, from, to, by }, i) => {
        const y = 24 + i * row
        const [start, length] = [left + (from / 100) * width, ((to - from) / 100) * width]
        const isLate = from > 50
        const [at, anchor] = isLate ? [start + length, 'end'] : [start, 'start']
        return [
          text(
            at,
            y + 14,
            by === '' ? name : `${name}: <tspan fill="${colors.edge}" font-weight="600">${by}</tspan>`,
            colors.ink,
            `text-anchor="${anchor}" font-size="14"`,
          ),
          `<rect x="${start.toFixed(0)}" y="${y + 22}" width="${length.toFixed(0)}" height="14" rx="4" fill="${by === '' ? colors.bad : colors.own}" stroke="${by === '' ? colors.bad : colors.edge}"/>`,
        ]
      }),
      line(left, height - 14, left + width, height - 14, colors.line, 'arrow'),
    ])
  }
}

/** What two sides say to each other, from above. */
function sequence(title, sides, messages) {
  return (colors) => {
    const row = 48
    const at = [110, WIDTH - 110]
    const height = messages.length * row + 96
    return svg(title, height, colors, [
      ...sides.flatMap((side, i) => [
        text(at[i], 36, side, colors.ink, 'text-anchor="middle" font-weight="600"'),
        line(at[i], 48, at[i], height - 20, colors.line),
      ]),
      ...messages.flatMap(({ says, to, fails = false }, i) => {
        const y = 88 + i * row
        const [start, goal] = [at[1 - to], at[to]]
        const end = fails ? start + (goal - start) * 0.6 : goal
        const color = fails ? colors.bad : colors.line
        return [
          text(WIDTH / 2, y - 8, says, fails ? colors.bad : colors.ink, 'text-anchor="middle" font-size="14"'),
          line(start, y, end, y, color, fails ? 'failed' : 'arrow'),
        ]
      }),
    ])
  }
}

function flow(colors) {
  const height = TOP + FLOW.length * ROW + 20
  const middle = BOX.left + BOX.width / 2
  const right = BOX.left + BOX.width
  const errors = right + 206
  const last = FLOW.findLastIndex(({ ends }) => ends !== '')
  const yOf = (i) => TOP + i * ROW + BOX.height / 2
  const beforeSend = yOf(FLOW.findIndex(({ name }) => name === 'Before send'))
  const rows = FLOW.flatMap(({ name, does, ends, own = false }, i) => {
    const top = TOP + i * ROW
    return [
      line(middle, top - ROW + BOX.height, middle, top, colors.line, 'arrow'),
      `<rect x="${BOX.left}" y="${top}" width="${BOX.width}" height="${BOX.height}" rx="8" fill="${own ? colors.own : colors.box}" stroke="${own ? colors.edge : colors.line}"/>`,
      text(BOX.left + 16, top + 28, name, colors.ink, 'font-weight="600"'),
      text(right - 16, top + 28, does, colors.soft, 'text-anchor="end" font-size="13"'),
      ...(ends === ''
        ? []
        : [line(right, yOf(i), errors, yOf(i), colors.bad), text(right + 14, yOf(i) - 6, ends, colors.bad, 'font-size="13"')]),
    ]
  })
  return svg('What happens to a request', height, colors, [
    ...rows,
    text(middle, 28, 'a request arrives', colors.soft, 'text-anchor="middle"'),
    line(errors, yOf(0), errors, beforeSend, colors.bad),
    line(errors, beforeSend, right + 2, beforeSend, colors.bad, 'failed'),
    text(right + 14, beforeSend - 6, 'a problem document', colors.bad, 'font-size="13"'),
    text(right + 14, yOf(last) + ROW * 2 + 4, 'green: code of your program', colors.soft, 'font-size="13"'),
  ])
}

/** Which columns of the first table of docs/performance.md are shown, and the names of its rows for people. */
const SERVERS = ['weir', 'Bun.serve', 'Fastify', 'Hono', 'Express']
const WORKLOADS = {
  'JSON hello': 'JSON hello',
  'Browser request': 'routed GET with browser headers',
  'JSON body': '200 B of JSON, checked',
  'Form with a file': 'form with a 64 KiB file',
}

function speed(colors) {
  const page = readFileSync(join(FOLDER, '../performance.md'), 'utf8').split('\n')
  const cellsOf = (row) => row.split('|').map((cell) => cell.trim())
  const columns = cellsOf(page.find((row) => row.startsWith('| | weir |')))
  const rows = Object.entries(WORKLOADS).map(([key, name]) => ({ name, cells: cellsOf(page.find((row) => row.startsWith(`| ${key} |`))) }))
  const left = 110
  const scale = (WIDTH - left - 70) / 2.6
  const one = left + scale
  const rowHeight = 22
  const groupHeight = SERVERS.length * rowHeight + 40
  const top = 58
  const height = top + rows.length * groupHeight + 14
  const parts = rows.flatMap(({ name, cells }, group) => {
    const start = top + group * groupHeight
    return [
      text(24, start + 14, name, colors.ink, 'font-weight="600"'),
      ...SERVERS.flatMap((server, i) => {
        const value = Number(cells[columns.indexOf(server)])
        const y = start + 24 + i * rowHeight
        return [
          text(left - 10, y + 13, server, server === 'weir' ? colors.ink : colors.soft, 'text-anchor="end" font-size="13"'),
          `<rect x="${left}" y="${y}" width="${(value * scale).toFixed(1)}" height="16" rx="3" fill="${server === 'weir' ? colors.edge : colors.line}"/>`,
          // With a rim, so that the line behind does not cross the digits.
          text(
            left + value * scale + 8,
            y + 13,
            value.toFixed(1),
            colors.ink,
            `font-size="13" paint-order="stroke" stroke="${colors.ground}" stroke-width="6"`,
          ),
        ]
      }),
    ]
  })
  return svg('Requests for the same CPU time, compared with node:http', height, colors, [
    text(24, 32, 'Requests for the same CPU time: more is better. The dashed line is node:http.', colors.soft),
    `<line x1="${one}" y1="${top}" x2="${one}" y2="${height - 18}" stroke="${colors.ink}" stroke-width="1" stroke-dasharray="3 3"/>`,
    ...parts,
  ])
}

function svg(title, height, colors, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="15">`,
    `<title>${title}</title>`,
    '<defs>',
    marker('arrow', colors.line),
    marker('failed', colors.bad),
    '</defs>',
    `<rect width="${WIDTH}" height="${height}" rx="12" fill="${colors.ground}"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function marker(name, color) {
  return `<marker id="${name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="${color}"/></marker>`
}

function line(x1, y1, x2, y2, color, end) {
  const mark = end === undefined ? '' : ` marker-end="url(#${end})"`
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${color}" stroke-width="1.5"${mark}/>`
}

function text(x, y, words, color, more = '') {
  return `<text x="${x}" y="${y}" fill="${color}" ${more}>${words}</text>`
}

for (const [name, draw] of Object.entries(DIAGRAMS)) {
  if (process.argv.includes('--list')) console.log(name)
  else
    for (const [scheme, colors] of Object.entries(SCHEMES)) {
      const path = join(FOLDER, `${name}-${scheme}.svg`)
      const drawn = draw(colors)
      if (process.argv.includes('--write')) {
        mkdirSync(FOLDER, { recursive: true })
        writeFileSync(path, drawn)
      } else if (!existsSync(path) || readFileSync(path, 'utf8') !== drawn) console.log(`docs/images/${name}-${scheme}.svg`)
    }
}
