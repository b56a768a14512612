// Writes a page for each entry of the packages into site/build/reference/: what it exports, with the doc comments of its declarations.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { entries, exportsOf } from '../scripts/declared.mjs'
import { fileOf, ROOT } from './pages.mjs'

const FOLDER = 'site/build/reference'
const WIDTH = 78

/** Writes the pages, and one that lists them in the order of the packages. */
export function writeReference() {
  process.chdir(ROOT)
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const pages = entries('declarations').map(({ name, file }) => ({
    name,
    file: `${FOLDER}/${fileOf(name)}.md`,
    names: exportsOf(file),
  }))
  for (const { name, file, names } of pages) {
    if (names.length === 0) throw new Error(`${name} has no declarations: run npm run build`)
    writeFileSync(file, pageOf(name, names))
  }
  const rows = pages.map(({ name, file, names }) => `| [\`${name}\`](${file.split('/').at(-1)}) | ${names.length} | ${guideOf(name)} |`)
  writeFileSync(`${FOLDER}/README.md`, `${HEAD}\n${rows.join('\n')}\n`)
}

const HEAD = `---
search: false
---

# Reference

Each entry of each package, with everything that it exports. The pages are made from the declarations that your editor shows.

| Entry | Names | Guide |
| --- | ---: | --- |`

/** Where the guide is about an entry that no page names first. */
const GUIDES = { weirjs: 'README.md', 'weirjs/contract': 'contracts.md', 'weirjs/explain': 'explaining.md', '@weirjs/redis': 'relay.md' }

/** A link to the page of the guide that is about an entry: the one that names it first. */
function guideOf(name) {
  const [best] = readdirSync('docs/guide')
    .map((file) => ({ file, text: readFileSync(`docs/guide/${file}`, 'utf8') }))
    .map(({ file, text }) => ({ file, title: /^# (.+)$/m.exec(text)[1], at: text.search(new RegExp(`${name}(?![\\w/])`)) }))
    .filter(({ file, at }) => (GUIDES[name] === undefined ? file !== 'README.md' && at !== -1 : file === GUIDES[name]))
    .sort((a, b) => a.at - b.at)
  return `[${best.title}](../../../docs/guide/${best.file})`
}

function pageOf(name, names) {
  const main = `import { ${nameFor(name, names)} } from '${name}'`
  return `---
search: false
outline: 2
---

# \`${name}\`

${names.length} names. ${guideOf(name)} shows how they are used.

\`\`\`ts
${main}
\`\`\`

${names.map((one) => sectionOf(one)).join('\n')}`
}

/** The function that an entry is named after, otherwise its first function or name. */
function nameFor(entry, names) {
  const functions = names.filter((one) => /^[a-z]/.test(one.name))
  const own = functions.find((one) => one.name.startsWith(entry.split('/').at(-1)))
  return (entry === 'weirjs' ? names.find((one) => one.name === 'HttpServer') : (own ?? functions[0] ?? names[0])).name
}

function sectionOf({ name, as, within, declarations }) {
  if (within !== undefined) {
    const parts = within.flatMap((one) => one.declarations.map(({ comment, text }) => codeOf(`${comment}\n${text}`.trim())))
    return `## ${name}\n\nA namespace.\n\n\`\`\`ts\n${parts.join('\n\n')}\n\`\`\`\n`
  }
  const renamed = as === undefined ? '' : `The name of \`${as}\` here.\n\n`
  const parts = declarations.map(({ comment, text }) => `${proseOf(comment)}\n\n\`\`\`ts\n${codeOf(text)}\n\`\`\`\n`)
  return `## ${name}\n\n${renamed}${parts.join('\n')}`
}

/** A declaration, whose comments are narrower than they are in the source. */
function codeOf(text) {
  return text.trim().replace(/^( *)\/\*\*((?:(?!\*\/)[\s\S])*)\*\/$/gm, (_, indent, comment) => {
    const lines = linesOf(comment).flatMap((line) => filled(line, WIDTH - indent.length - 3))
    const only = lines.length === 1 && `${indent}/** ${lines[0]} */`
    return only && only.length <= WIDTH
      ? only
      : [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join('\n')
  })
}

/** The lines of a comment without its stars; text that goes on is in one line. */
function linesOf(comment) {
  const lines = comment
    .split('\n')
    .map((line) => line.replace(/^ *\* ?/, '').trimEnd())
    .map((line) => line.replace(/^ (?=\S)/, ''))
  const joined = []
  let isCode = false
  for (const line of lines) {
    const fence = line.startsWith('```')
    const last = joined.at(-1)
    const goesOn =
      !isCode && !fence && last !== undefined && last !== '' && !last.startsWith('```') && line !== '' && !/^(?:@|[-*|] |\d\. )/.test(line)
    if (goesOn) joined[joined.length - 1] = `${last} ${line.trim()}`
    else joined.push(line)
    if (fence) isCode = !isCode
  }
  return joined.join('\n').trim().split('\n')
}

function filled(line, width) {
  if (line.startsWith('|') || line.startsWith(' ')) return [line]
  const lines = ['']
  for (const word of line.split(' ')) {
    const last = lines.at(-1)
    if (last !== '' && last.length + word.length >= width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

/** A doc comment as Markdown: its tags are a list, and codes of errors lead to their explanations. */
function proseOf(comment) {
  if (comment === '') return ''
  const lines = linesOf(comment.replace(/^\/\*\*|\*\/$/g, ''))
  let isCode = false
  return lines
    .flatMap((line) => {
      if (line.startsWith('```')) isCode = !isCode
      if (isCode || line.startsWith('```')) return [line]
      // Tags in the middle of a line begin one of their own.
      return line.split(/ (?=@(?:param|returns|throws|see|default)\b)/).map((one) => tagOf(one))
    })
    .join('\n')
}

function tagOf(line) {
  const text = escaped(line.replace(/\{@link ([^}]+)\}/g, '`$1`'))
  const [, tag, rest] = /^@(\w+)\s*(.*)$/.exec(text) ?? []
  if (tag === undefined) return text
  if (tag === 'param') return `- ${rest.replace(/^(\S+)/, '`$1`:')}`
  if (tag === 'example') return `\n**Example** ${rest}\n`
  return `- ${{ returns: 'Returns', throws: 'Throws', see: 'See', default: 'Default:' }[tag] ?? tag} ${rest}`
}

/** What is not code may hold no HTML. */
function escaped(line) {
  return line
    .split(/(`[^`]*`)/)
    .map((part) => {
      const code = /^`(WEIR_[A-Z0-9_]+)`$/.exec(part)?.[1]
      if (code !== undefined) return `[${part}](../../../docs/errors.md#${code.toLowerCase()})`
      if (part.startsWith('`')) return part
      return part
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replace(/\bWEIR_[A-Z0-9_]+\b/g, (one) => `[\`${one}\`](../../../docs/errors.md#${one.toLowerCase()})`)
    })
    .join('')
}

if (process.argv[1] === import.meta.filename) writeReference()
