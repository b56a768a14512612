// Draws what the first rows of docs/grafana/weir.json show: the program of docs/guide/dashboard.md runs under load beside a Prometheus, which gets
// every query of the panels. Grafana itself is not needed.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const SECONDS = 90
const RATE = '20s'
/** Panels of these rows of the grid. */
const MOST_Y = 20
const [CELL, ROW, GAP, WIDTH] = [40, 26, 12, 960]
const LINES = {
  light: ['#0f6b63', '#b3261e', '#8a5300', '#5b4db2', '#17693a', '#53625e'],
  dark: ['#63cdbf', '#ff9a90', '#e9b25c', '#b6a9ff', '#7dd39b', '#9dada8'],
}

/** What the picture is drawn from: the program and the panels that it shows. */
export function dashboardSources(root) {
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, 'docs/guide/dashboard.md'), 'utf8'))
  const { panels } = JSON.parse(readFileSync(join(root, 'docs/grafana/weir.json'), 'utf8'))
  const shown = panels.filter(({ gridPos }) => gridPos.y < MOST_Y)
  return [program, ...shown.map((panel) => JSON.stringify(panel))].join('\n')
}

/**
 * @param folder with `node_modules/weirjs`
 * @param colours of both schemes
 * @returns the picture for each scheme
 */
export async function dashboardPictures(root, folder, colours) {
  const page = readFileSync(join(root, 'docs/guide/dashboard.md'), 'utf8')
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(page)
  const [, config] = /^```yaml\n([\s\S]*?)^```$/m.exec(page)
  const { panels } = JSON.parse(readFileSync(join(root, 'docs/grafana/weir.json'), 'utf8'))
  const [port, admin, prometheus] = [await freePort(), await freePort(), await freePort()]
  writeFileSync(join(folder, 'server.js'), program.replace('8080', port).replace('9100', admin))
  writeFileSync(join(folder, 'prometheus.yml'), config.replace('9100', admin).replace('5s', '1s'))
  const children = [
    spawn(process.execPath, ['server.js'], { cwd: folder, stdio: 'ignore' }),
    spawn('prometheus', ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${prometheus}`], {
      cwd: folder,
      stdio: 'ignore',
    }),
  ]
  try {
    await load(`http://127.0.0.1:${port}`)
    const end = Date.now() / 1000
    const shown = panels.filter(({ gridPos }) => gridPos.y < MOST_Y)
    const drawn = []
    for (const panel of shown) drawn.push({ ...panel, series: await seriesOf(`http://127.0.0.1:${prometheus}`, panel, end) })
    return Object.fromEntries(Object.entries(colours).map(([scheme, one]) => [scheme, picture(drawn, one, LINES[scheme])]))
  } finally {
    for (const child of children) child.kill('SIGTERM')
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The requests of the page, more and fewer of them at a time. */
async function load(origin) {
  const end = Date.now() + SECONDS * 1000
  const paths = ['users/1', 'users/2', 'users/3', 'slow', 'broken', 'nowhere']
  const ask = async (path) =>
    await fetch(`${origin}/${path}`).then(
      (response) => response.text(),
      () => '',
    )
  const client = async (number) => {
    for (let i = number; Date.now() < end; i++) {
      await ask(paths[(i * 7 + number) % (i % 9 === 0 ? paths.length : 4)])
      await sleep(20 + 60 * (1 + Math.sin((Date.now() / 1000 + number) / 9)))
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, number) => client(number)))
}

async function seriesOf(origin, { targets, type }, end) {
  const series = []
  for (const { expr, legendFormat = '' } of targets) {
    const query = expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', RATE)
    const url = new URL('/api/v1/query_range', origin)
    url.search = new URLSearchParams({ query, start: end - SECONDS + 25, end, step: 1 }).toString()
    const { data } = await (await fetch(url)).json()
    for (const { metric, values } of data.result) {
      const name = legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '').trim()
      series.push({ name: name.endsWith('/metrics') ? null : name || type, values: values.map(([at, value]) => [at, Number(value)]) })
    }
  }
  return series.filter(({ name, values }) => name !== null && values.some(([, value]) => Number.isFinite(value)))
}

function written(value, unit) {
  if (unit === 's') return value < 1 ? `${(value * 1000).toFixed(0)} ms` : `${value.toFixed(2)} s`
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`
  return value >= 100 ? value.toFixed(0) : value.toFixed(1)
}

function escaped(text) {
  return text.replace(/[&<"]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '"': '&quot;' })[one])
}

function picture(panels, colours, lines) {
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => (y + h) * ROW))
  const text = (x, y, what, more = '') => `<text x="${x}" y="${y}" ${more}>${escaped(what)}</text>`
  const parts = panels.flatMap(({ gridPos, title, type, series, fieldConfig }) => {
    const { unit } = fieldConfig.defaults
    const [x, y] = [gridPos.x * CELL + GAP / 2, gridPos.y * ROW + GAP / 2]
    const [width, tall] = [gridPos.w * CELL - GAP, gridPos.h * ROW - GAP]
    const frame = `<rect x="${x + 0.5}" y="${y + 0.5}" width="${width - 1}" height="${tall - 1}" rx="6" fill="${colours.ground}" stroke="${colours.line}"/>`
    const head = text(x + 12, y + 22, title, `font-size="13" fill="${colours.dim}"`)
    const last = series[0]?.values.at(-1)?.[1] ?? 0
    if (type === 'stat')
      return [frame, head, text(x + 12, y + 66, written(last, unit), `font-size="30" font-weight="600" fill="${lines[0]}"`)]
    const all = series.flatMap(({ values }) => values).filter(([, value]) => Number.isFinite(value))
    const most = Math.max(...all.map(([, value]) => value), 1e-9) * 1.1
    const [from, to] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))]
    const plot = { left: x + 58, right: x + width - 14, top: y + 36, bottom: y + tall - 40 }
    const placeOf = ([at, value]) =>
      `${(plot.left + ((at - from) / (to - from || 1)) * (plot.right - plot.left)).toFixed(1)},${(plot.bottom - (value / most) * (plot.bottom - plot.top)).toFixed(1)}`
    const grid = [0, 0.5, 1].flatMap((part) => {
      const at = plot.bottom - (part / 1.1) * (plot.bottom - plot.top)
      return [
        `<path d="M${plot.left} ${at.toFixed(1)}H${plot.right}" stroke="${colours.line}" fill="none"/>`,
        text(plot.left - 6, at + 4, written((most / 1.1) * part, unit), `font-size="11" text-anchor="end" fill="${colours.dim}"`),
      ]
    })
    const curves = series.slice(0, lines.length).map(({ values }, i) => {
      const known = values.filter(([, value]) => Number.isFinite(value))
      return `<polyline points="${known.map(placeOf).join(' ')}" fill="none" stroke="${lines[i]}" stroke-width="1.6"/>`
    })
    let left = plot.left
    const legend = series.slice(0, lines.length).flatMap(({ name }, i) => {
      const at = left
      left += 26 + name.length * 6.6
      return [
        `<rect x="${at}" y="${y + tall - 22}" width="10" height="4" rx="2" fill="${lines[i]}"/>`,
        text(at + 14, y + tall - 16, name, `font-size="11" fill="${colours.ink}"`),
      ]
    })
    return [frame, head, ...grid, ...curves, ...legend]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="The panels of the dashboard">
<style>text{font-family:ui-sans-serif,system-ui,"DejaVu Sans",sans-serif}</style>
${parts.join('\n')}
</svg>
`
}
