// Opens the page of the demo in a browser, for one test, and collects its complaints.

import type { TestContext } from 'node:test'

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { HttpServer } from 'weirjs'

import type { DemoOptions } from '../../../../examples/demo/app.ts'
import { type DemoRun, startDemo } from './demo.ts'

export interface Visit extends DemoRun {
  readonly page: Page
  /** Errors and warnings of the console, uncaught exceptions, and failed requests, from all pages of this visit. */
  readonly complaints: string[]
  /** Opens the same page again, in the same browser. */
  open(): Promise<Page>
}

const WIDE = { width: 1280, height: 900 }
const NARROW = { width: 360, height: 740 }

/** The combinations of colour scheme and width in which people see the page. */
export const LOOKS = [
  { name: 'light and wide', look: { colorScheme: 'light', viewport: WIDE } },
  { name: 'light and narrow', look: { colorScheme: 'light', viewport: NARROW } },
  { name: 'dark and wide', look: { colorScheme: 'dark', viewport: WIDE } },
  { name: 'dark and narrow', look: { colorScheme: 'dark', viewport: NARROW } },
] as const

/** Each scheme and each width once: for tests that play with a page, which take many seconds. */
export const PLAYED_LOOKS = [LOOKS[0], LOOKS[3]] as const

/** @param map adds routes before the server starts */
export async function visitDemo(
  t: TestContext,
  browser: Browser,
  options: BrowserContextOptions = {},
  map?: (server: HttpServer) => void,
  demo: DemoOptions = {},
): Promise<Visit> {
  const run = await startDemo(t, demo, map)
  const context = await browser.newContext({ viewport: WIDE, ...options })
  t.after(() => context.close())
  const complaints: string[] = []
  const open = async (): Promise<Page> => {
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on('console', (message) => {
      // Cards are refused by themselves, which the browser notes: a wrong value, the gate, and forms without a file.
      const { url } = message.location()
      const lacksFile = url === `${run.origin}/api/user/upload` && message.text().includes('a status of 400')
      const isMeant = lacksFile || [`${run.origin}/notes`, `${run.origin}/teams/blue/pictures`].includes(url)
      if (/^(?:error|warning)$/.test(message.type()) && !isMeant) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('requestfailed', (request) => {
      const { errorText } = request.failure()!
      if (errorText !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${errorText}`) // otherwise the page itself aborted it
    })
    await page.goto(`${run.origin}/`)
    return page
  }
  return { ...run, page: await open(), complaints, open }
}
