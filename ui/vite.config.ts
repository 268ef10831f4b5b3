import { defineConfig } from "vite";

export default defineConfig({
  base: "/ui/",
  build: {
    outDir: "../src/schedlab/web/built",
    emptyOutDir: true,
    assetsDir: "",
    // Styles and fonts inside scripts would need rules of the page's CSP that are better kept out.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
