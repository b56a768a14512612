/** Where `weir dev` tells open pages to load again. The inspector leaves it out. */
export const RELOAD_PATH = '/_weir-reload'
