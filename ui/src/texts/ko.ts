import type { Texts } from ".";

export const ko: Texts = {
  shell: {
    skip: "본문으로 건너뛰기",
    navigation: "페이지",
    theme: "테마",
    themes: { system: "시스템 설정", light: "밝게", dark: "어둡게" },
    language: "언어",
    logout: "로그아웃",
    loading: "불러오는 중…",
    stale: (time) => `연결이 끊어졌습니다. 지금 보이는 것은 ${time}의 상태이며, 자동으로 다시 연결합니다.`,
    dismiss: "닫기",
    notFound: "그런 페이지는 없습니다",
    notFoundHint: "메뉴에서 페이지를 고르세요.",
  },
  login: {
    title: "로그인",
    why: "로그인하기 전에는 클러스터에 대해 아무것도 보여 주지 않습니다.",
    how: "시뮬레이터가 실행 중인 곳에서 아래 명령을 실행하고, 출력된 링크를 여세요. 링크는 한 시간 동안 한 번만 쓸 수 있습니다.",
    refused: "링크를 사용할 수 없습니다.",
    checking: "링크를 확인하는 중…",
  },
  errors: {
    title: "작업을 마치지 못했습니다",
    unreachable: "시뮬레이터가 응답하지 않습니다.",
    unreachableHint: "`schedlab up`으로 시작하면 이 페이지가 자동으로 이어집니다.",
    conflictHint: "그 사이에 다른 변경이 있었습니다. 객체를 다시 불러온 뒤 변경하세요.",
    retry: "다시 시도",
  },
  pages: {
    map: "클러스터 맵",
    objects: "객체",
    scheduler: "스케줄러",
    snapshot: "스냅샷",
  },
};
