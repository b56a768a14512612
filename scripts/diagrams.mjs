// The diagrams of the documentation, light and dark: `node scripts/diagrams.mjs --write` writes them into docs/images/. Without `--write`, it
// prints which of them differ.
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

const DIAGRAMS = { 'request-flow': flow, speed }

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
          text(left + value * scale + 8, y + 13, value.toFixed(1), colors.ink, 'font-size="13"'),
        ]
      }),
    ]
  })
  return svg('Requests for the same CPU time, compared with node:http', height, colors, [
    text(24, 32, 'Requests for the same CPU time. node:http is 1.', colors.soft),
    ...parts,
    `<line x1="${one}" y1="${top}" x2="${one}" y2="${height - 18}" stroke="${colors.ink}" stroke-width="1" stroke-dasharray="3 3"/>`,
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
  for (const [scheme, colors] of Object.entries(SCHEMES)) {
    const path = join(FOLDER, `${name}-${scheme}.svg`)
    const drawn = draw(colors)
    if (process.argv.includes('--write')) {
      mkdirSync(FOLDER, { recursive: true })
      writeFileSync(path, drawn)
    } else if (!existsSync(path) || readFileSync(path, 'utf8') !== drawn) console.log(`docs/images/${name}-${scheme}.svg`)
  }
}
