// The page that a browser is shown for an error while a program is developed (`debug`): the error with its causes and their source, the
// request, and the explanation. One file, without scripts. Everything in it is escaped.

import { createHash } from 'node:crypto'
import { isInstance } from '../../base/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Problem } from '../../http/response/problem.ts'
import { NOT_SHOWN } from '../../schema/mismatch.ts'
import type { Explanation } from '../explain/explanation.ts'
import { type Fact, factsOf } from '../explain/explanation-text.ts'
import type { Route } from '../routes/route.ts'
import type { Secrets } from '../routes/shown-target.ts'
import type { ShownTexts } from '../routes/shown-texts.ts'
import { html, Markup } from './markup.ts'
import { STYLE } from './page-style.ts'
import { type Frame, framesOf, type SourceLines } from './source-frames.ts'

/** What the page may load and do: only its own style. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The fields of a response with the page. */
export const PAGE_FIELDS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

const MAX_CAUSES = 4
const MAX_FAILURES = 100
const MAX_SHOWN_CHARACTERS = 1_000
const NOTHING: readonly Markup[] = []

interface ErrorPage {
  readonly problem: Problem
  /** What was thrown. Null if the program has responded with the problem itself. */
  readonly error: unknown
  readonly exchange: Exchange
  /** Null if there is none. */
  readonly explanation: Explanation | null
  readonly secrets: Secrets
  readonly texts: ShownTexts
}

export async function errorPage({ problem, error, exchange, explanation, secrets, texts }: ErrorPage): Promise<string> {
  const { status, title, code = '', detail = title } = problem
  const where = await sourceSections(error)
  const why = [explanationSection(explanation), requestSection(exchange, secrets, texts)].flat()
  // For a client's mistake the page shows the routes first, for a mistake of the program its source.
  const sections = [...failureSection(problem), ...(status < 500 ? [...why, ...where] : [...where, ...why])]
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${status} ${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<header>
<p class="status"><b>${status} ${title}</b> <code>${code}</code></p>
<h1>${shortened(detail)}</h1>
</header>
<main>
${sections}
</main>
<footer>The server runs with <code>debug: true</code>. Without it, clients are sent a problem document, and never see this page.</footer>
</body>
</html>
`.text
}

/** The values that could not be converted. */
function failureSection({ errors = [] }: Problem): readonly Markup[] {
  if (errors.length === 0) return NOTHING
  const facts = errors.slice(0, MAX_FAILURES).map(({ name, in: place, expected, actual }): Fact => {
    const received = actual === undefined ? 'received nothing' : `received ${JSON.stringify(actual)}`
    return [name === '' ? place : `${name} (${place})`, [`expected ${expected}, ${received}`]]
  })
  return [section('misfits', html`What does not fit`, list(facts))]
}

/** The source where the error, and each of its causes, was thrown. */
async function sourceSections(error: unknown): Promise<readonly Markup[]> {
  const sections: Markup[] = []
  let cause = error
  for (let i = 0; i <= MAX_CAUSES && cause !== null && cause !== undefined; i++) {
    const frames = await framesOf(cause)
    const title = i === 0 ? html`Where` : html`Caused by <code>${shortened(messageOf(cause))}</code>`
    if (frames.length > 0 || i > 0) sections.push(section(`where-${i}`, title, html`${frameLists(frames)}`))
    cause = causeOf(cause)
  }
  return sections
}

function messageOf(error: unknown): string {
  try {
    return isInstance(error, Error) ? `${error.name}: ${error.message}` : String(error)
  } catch {
    return 'an object that has no text'
  }
}

function causeOf(error: unknown): unknown {
  try {
    return isInstance(error, Error) ? error.cause : null
  } catch {
    return null
  }
}

/** The frames of the program. Other frames, where the mistake rarely is, are collapsed. */
function frameLists(frames: readonly Frame[]): readonly Markup[] {
  const listOf = (own: boolean): Markup[] => frames.filter(({ isProgram }) => isProgram === own).map(frameItem)
  const program = listOf(true)
  const others = listOf(false)
  return [
    ...(program.length === 0 ? NOTHING : [html`<ol>${program}</ol>`]),
    ...(others.length === 0
      ? NOTHING
      : [html`<details><summary>${others.length} calls in weir, packages and Node</summary><ol>${others}</ol></details>`]),
  ]
}

function frameItem({ name, file, line, column, source }: Frame): Markup {
  const place = html`<code>${file}:${line}:${column}</code>`
  const title = name === '' ? place : html`<code>${name}</code> <span class="soft">${place}</span>`
  return html`<li>${title}${source === null ? NOTHING : sourceBlock(source, line)}</li>`
}

function sourceBlock({ first, lines }: SourceLines, line: number): Markup {
  const rows = lines.map((text, i) => {
    const number = first + i
    return html`<span class="${number === line ? 'at' : ''}"><i>${number}</i>${text === '' ? ' ' : text}</span>`
  })
  return html`<pre>${rows}</pre>`
}

function requestSection({ head, match, requestId }: Exchange, secrets: Secrets, texts: ShownTexts): Markup {
  const facts: Fact[] = [
    ['request', [`${head.method} ${texts.target(secrets.shownTarget(head), match.route as Route | null)} ${head.protocol}`]],
    ['id', [requestId]],
  ]
  const fields = [...head.entries()].map(([name, value]): Fact => {
    return [name, [secrets.fields.has(name.toLowerCase()) ? NOT_SHOWN : texts.field(name, value)]]
  })
  const details = html`<details><summary>${fields.length} fields</summary>${list(fields)}</details>`
  return section('request', html`Request`, html`${list(facts)}${details}`)
}

function explanationSection(explanation: Explanation | null): readonly Markup[] {
  return explanation === null ? NOTHING : [section('explanation', html`Explanation`, list(factsOf(explanation)))]
}

function section(id: string, title: Markup, content: Markup): Markup {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`
}

function list(facts: readonly Fact[]): Markup {
  const items = facts.map(
    ([title, texts]) => html`<dt>${shortened(title)}</dt><dd>${texts.map((text) => html`<p>${shortened(text)}</p>`)}</dd>`,
  )
  return html`<dl>${items}</dl>`
}

function shortened(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`
}
