// The tables of docs/guests.md: one row for each guest, written by the run.
import { readFileSync, writeFileSync } from 'node:fs'

import { NODE_HTTP, WEIR, WEIR_HTTP2 } from './support/serve-guest.mjs'

const PAGE = new URL('../../docs/guests.md', import.meta.url)
const HEAD = ['Guest', 'Version', 'What was driven', 'Inside weir', 'CPU time']

/** Puts rows into the table of their kind, in place of those with the same name. A CPU time that was not measured stays. */
export function writeRows(rows, isWhole) {
  let page = readFileSync(PAGE, 'utf8')
  for (const kind of ['application', 'framework', 'middleware']) {
    const begin = `<!-- ${kind}s: written by npm run test:guests -->\n`
    const end = `<!-- end of ${kind}s -->`
    const from = page.indexOf(begin) + begin.length
    const to = page.indexOf(end)
    if (from < begin.length || to === -1) throw new Error(`docs/guests.md has no place for ${kind}s`)
    const lines = new Map([...page.slice(from, to).matchAll(/^\| (.+?) \|(.*)\|$/gm)].map(([line, name]) => [name, line]))
    const kept = isWhole ? new Map() : new Map([...lines].filter(([name]) => name !== HEAD[0] && !/^-+$/.test(name)))
    for (const row of rows) if (row.kind === kind) kept.set(row.name, lineOf(row, lines.get(row.name)))
    const sorted = [...kept].sort(([a], [b]) => a.localeCompare(b, 'en', { sensitivity: 'base' })).map(([, line]) => line)
    const table = [`| ${HEAD.join(' | ')} |`, `|${' --- |'.repeat(HEAD.length)}`, ...sorted].join('\n')
    page = `${page.slice(0, from)}\n${table}\n\n${page.slice(to)}`
  }
  writeFileSync(PAGE, page)
}

function lineOf({ name, version, driven, differs, result, cpu }, before) {
  const time = cpu ? `${cpu.ratio.toFixed(2)} ± ${cpu.uncertainty.toFixed(2)}` : (before?.split('|').at(-2).trim() ?? '')
  return `| ${[name, version, driven, outcomeOf(result, differs), time].join(' | ')} |`
}

function outcomeOf(result, differs) {
  if (result[NODE_HTTP] !== 'passed') return 'fails on node:http'
  if (result[WEIR] !== 'passed') return result[WEIR] === 'differs' ? '**differs**' : '**fails**'
  const http2 = result[WEIR_HTTP2] === undefined ? '' : result[WEIR_HTTP2] === 'passed' ? ', also over HTTP/2' : ', **fails over HTTP/2**'
  return `same${http2}${differs && `. ${differs}`}`
}
