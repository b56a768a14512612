/** Aborts. A signal that its holder has broken, by another `dispatchEvent` say, tells nobody: that must not stop who aborts it. */
export function abortQuietly(controller: AbortController, reason: unknown): void {
  try {
    controller.abort(reason)
  } catch {}
}
