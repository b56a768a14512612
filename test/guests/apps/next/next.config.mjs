// Without a root, Next looks for lock files above this folder.
const root = new URL('../..', import.meta.url).pathname

export default { turbopack: { root }, outputFileTracingRoot: root }
