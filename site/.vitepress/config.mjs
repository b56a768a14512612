import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import { addressOf, pageOf, REPOSITORY, ROOT, sidebar, slugOf } from '../pages.mjs'

process.chdir(ROOT)

export default {
  title: 'weir',
  description: 'A safe, typed, fast HTTP server for Node.js.',
  lang: 'en',
  // The pages are rendered where they are: docs/ for GitHub and for the package, and here.
  srcDir: '..',
  srcExclude: [
    '{api,bench,build,decisions,declarations,examples,packages,packed,scripts,test}/**',
    '{CONTRIBUTING,README,SECURITY}.md',
    'site/hero.md',
  ],
  rewrites: (file) => pageOf(file) ?? file,
  outDir: 'dist',
  cacheDir: 'build/cache',
  cleanUrls: true,
  metaChunk: true,
  head: [
    ['link', { rel: 'icon', href: '/logo.svg', type: 'image/svg+xml' }],
    ['meta', { name: 'theme-color', content: '#0f6b63' }],
  ],
  markdown: {
    anchor: { slugify: slugOf },
    codeTransformers: [{ name: 'terminals', code: mendTerminal }],
    languageAlias: { promql: 'bash', haproxy: 'nginx', caddy: 'nginx' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => {
      md.core.ruler.before('normalize', 'programs', (state) => {
        state.src = tabbed(state.src)
      })
      md.core.ruler.push('links', ({ tokens, env }) => linkTokens(tokens, env.realPath ?? env.path))
      md.core.ruler.push('corners', ({ tokens }) => mendCorners(tokens))
      md.core.ruler.push('pictures', ({ tokens }) => mendPictures(tokens))
      md.core.ruler.push('code', ({ tokens }) => mendCode(tokens))
      const { fence } = md.renderer.rules
      md.renderer.rules.fence = (tokens, i, ...rest) => {
        const { info } = tokens[i] // the fence of VitePress takes the name away
        return namedFence(fence(tokens, i, ...rest), info)
      }
    },
  },
  vite: {
    publicDir: join(import.meta.dirname, '../public'),
    server: { fs: { allow: [ROOT] } },
    plugins: [{ name: 'mend-theme', enforce: 'pre', transform: mended }],
  },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Guide', link: '/guide/', activeMatch: '^/guide/' },
      { text: 'Errors', link: '/errors' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    externalLinkIcon: true,
    socialLinks: [{ icon: 'github', link: REPOSITORY, ariaLabel: 'The repository' }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    search: {
      provider: 'local',
      // Whoever types `upload` means the page "Uploads" as much as the code WEIR_UPLOAD_FINAL, which has the very word.
      options: {
        _render: searched,
        miniSearch: { searchOptions: { boost: { title: 4, text: 2, titles: 1 }, weights: { prefix: 1, fuzzy: 0.2 } } },
      },
    },
  },
  transformPageData(page) {
    page.description ||= firstSentences(readFileSync(join(ROOT, page.filePath), 'utf8'))
    if (!page.filePath.startsWith('docs/')) page.frontmatter.editLink = false
  },
}

/** What components of the theme lack for people who do not see the page, or use no mouse: texts, and what replaces them. */
const MENDED = {
  // No landmark for its content.
  'VPHome.vue': [['class="VPHome"', 'class="VPHome" role="main"']],
  // Another name than the text that it shows, which has the K of a keyboard.
  'VPNavBarSearchButton.vue': [['>K</kbd>', '></kbd>']],
  // A button inside a button, and no state.
  'VPSidebarItem.vue': [
    [/role="button"\s+aria-label="toggle section"/, 'aria-hidden="true"'],
    [/@keydown.enter="onCaretClick"\s+tabindex="0"/, ''],
    [':tabindex="item.items && 0"', ':tabindex="item.items && 0" :aria-expanded="item.items ? !collapsed : undefined"'],
  ],
}

function mended(code, id) {
  let text = code
  for (const [from, to] of MENDED[id.split('/').at(-1)] ?? []) {
    if (text.search(from) === -1) throw new Error(`${id} has no ${from}`)
    text = text.replace(from, to)
  }
  return text === code ? null : text
}

/** Links in Markdown are those of the repository. @param path nothing for a single line, such as the title */
function linkTokens(tokens, path) {
  if (path === undefined) return
  const file = relative(ROOT, path).replaceAll('\\', '/')
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    if (token.type === 'link_open' && token.attrGet('class') !== 'header-anchor')
      token.attrSet('href', addressOf(token.attrGet('href'), file))
  }
}

/** What the search knows of a page, without colours. The reference is so large that it would bury the guide. */
function searched(text, env, md) {
  if (env.path.includes('/reference/')) return ''
  const { highlight } = md.options
  md.set({ highlight: null })
  const html = md.render(text, env)
  md.set({ highlight })
  return html
}

/** An empty corner of a table is no heading. */
function mendCorners(tokens) {
  for (const [i, token] of tokens.entries()) {
    if (token.type !== 'th_open' || tokens[i + 1].content !== '') continue
    token.tag = 'td'
    tokens[i + 2].tag = 'td'
  }
}

/** Code that is only indented scrolls on a narrow screen, as all other code does. */
function mendCode(tokens) {
  for (const token of tokens.filter(({ type }) => type === 'code_block')) Object.assign(token, { type: 'fence', info: 'text' })
}

/** A picture follows the scheme that the reader has chosen, not only that of the system. */
function mendPictures(tokens) {
  for (const token of tokens.filter(({ type }) => type === 'html_block'))
    token.content = token.content.replace(
      /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img src="([^"]+)"([^>]*)>\s*<\/picture>/g,
      '<img class="only-dark" src="$1"$3><img class="only-light" src="$2"$3>',
    )
}

/** A program, commands and what the program itself prints, one below the other for GitHub, are tabs here. */
function tabbed(text) {
  const file = /(?:^```ts \[[\w.]+\]\n(?:(?!```)[\s\S])*?^```\n\n)+/.source
  const terminal = /^```console(\n[\s\S]*?^```)$/.source
  const program = new RegExp(`(${file})${terminal}(?:\\n\\n(?=\`\`\`console\\n\\$ node main\\.ts)${terminal})?`, 'gm')
  return text.replace(program, (_, files, commands, own) => {
    const more = own === undefined ? '' : `\n\n\`\`\`console [Where it runs]${own}`
    return `::: code-group\n${files}\`\`\`console [In a terminal]${commands}${more}\n:::`
  })
}

const PROMPT = '$ '

/** In a terminal, what is printed looks different from what a person types, and only the latter is copied. */
function mendTerminal(code) {
  if (this.options.lang !== 'console') return
  let isCommand = false
  for (const line of code.children.filter(({ type }) => type === 'element')) {
    const text = textOf(line)
    if (text.startsWith(PROMPT)) {
      cutStart(line, PROMPT.length)
      const properties = { class: 'vp-copy-ignore' }
      line.children.unshift({ type: 'element', tagName: 'span', properties, children: [{ type: 'text', value: PROMPT }] })
      isCommand = true
    }
    this.addClassToHast(line, isCommand ? 'command' : 'printed vp-copy-ignore')
    isCommand &&= text.endsWith('\\')
  }
}

function textOf(node) {
  return node.type === 'text' ? node.value : node.children.map(textOf).join('')
}

/** Takes away the first characters of a line, which may be in several spans. */
function cutStart(line, length) {
  let left = length
  for (const span of line.children) {
    const [text] = span.children
    const cut = text.value.slice(0, left).length
    text.value = text.value.slice(cut)
    left -= cut
  }
}

/** A block of code that is a file has its name in place of its language: ```ts [main.ts] */
function namedFence(html, info) {
  const name = /^\w+ \[([\w ./-]+)\]/.exec(info)?.[1]
  return name === undefined ? html : html.replace(/<span class="lang">[^<]*</, `<span class="lang">${name}<`)
}

/** The first paragraph of a page, as plain text. */
function firstSentences(text) {
  const paragraph = text
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .split('\n\n')
    .map((one) => one.trim())
    .find((one) => /^[\w`[]/.test(one) && !one.startsWith('```'))
  return (paragraph ?? '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .slice(0, 200)
}
